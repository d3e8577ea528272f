import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { UserError } from './terminal.ts';

export interface ReadTools {
  readonly tools: readonly ToolDefinition[];
  /** Names of fields that our shape has no place for. */
  readonly ignored: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields of our own shape that are taken over as they are. */
const OWN_FIELDS = ['server', 'tags', 'examples', 'replaces', 'metadata'];
/** Where a schema may stand: ours and MCP, Anthropic, OpenAI. */
const SCHEMA_FIELDS = ['inputSchema', 'input_schema', 'parameters'];
const KNOWN_FIELDS = new Set([
  'name',
  'description',
  'id',
  'type',
  'strict',
  ...OWN_FIELDS,
  ...SCHEMA_FIELDS,
]);

/**
 * Reads tools in any of the shapes they come in: an MCP `tools/list` result (with or without its JSON-RPC
 * envelope), OpenAI function tools (nested or flat), Anthropic tools, our own; as an array, as `{tools: [...]}`,
 * as an object of tools by name, as a single tool, or as JSON lines.
 *
 * @throws UserError naming what is wrong and where.
 */
export function readToolsFile(text: string, server?: string): ReadTools {
  const items = listTools(parse(text));
  if (items.length === 0) throw new UserError('There are no tools in this file.');
  const ignored = new Set<string>();
  const tools = items.map((item, index) => {
    const fields = unwrapped(item);
    for (const name of Object.keys(fields)) if (!KNOWN_FIELDS.has(name)) ignored.add(name);
    return toolOf(fields, index, server);
  });
  refuseRepeatedNames(tools);
  return { tools, ignored: [...ignored] };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (whole) {
    const lines = text.split('\n').map((line) => line.trim());
    if (lines.filter((line) => line !== '').length < 2) {
      throw new UserError(`The file is not JSON: ${(whole as Error).message}.`);
    }
    return lines.flatMap((line, index) => (line === '' ? [] : [parseLine(line, index)]));
  }
}

function parseLine(line: string, index: number): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new UserError(
      `The file is neither JSON nor JSON lines: line ${index + 1}: ${(error as Error).message}.`,
    );
  }
}

function listTools(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (!isFields(value))
    throw new UserError('The file has to hold tools: an array, or an object with `tools`.');
  const { error, result } = value;
  if ('jsonrpc' in value && error != null) {
    const { message = JSON.stringify(error) } = isFields(error) ? error : {};
    throw new UserError(`This is a JSON-RPC error and holds no tools: ${message}`);
  }
  for (const [holder, path] of [
    [value, ''],
    [result, 'result.'],
  ] as const) {
    if (!isFields(holder)) continue;
    for (const member of ['tools', 'functions']) {
      if (Array.isArray(holder[member])) return holder[member];
      if (member in holder) return toolsByName(holder[member], `${path}${member}`);
    }
  }
  if ('result' in value) throw new UserError('`result` of this JSON-RPC answer has no `tools`.');
  if (typeof value.name === 'string' || isFields(value.function)) return [value];
  return toolsByName(value, 'The file');
}

/** Reads `{name: {description, …}}`. @throws UserError if a value does not look like a tool */
function toolsByName(value: unknown, what: string): unknown[] {
  const entries = isFields(value) ? Object.entries(value) : [];
  const other = entries.find(([, tool]) => !isToolBody(tool));
  if (isFields(value) && other === undefined)
    return entries.map(([name, tool]) => ({ name, ...(tool as Fields) }));
  const found = isFields(value) ? `an object with ${someOf(Object.keys(value))}` : JSON.stringify(value);
  const why = other === undefined ? '' : ` "${other[0]}" has neither a description nor an input schema.`;
  throw new UserError(
    `${what} holds no tools, it is ${found}.${why} Tools are an array, or an object of tools by name, each with \`description\` or \`inputSchema\`.`,
  );
}

function isToolBody(value: unknown): boolean {
  if (!isFields(value)) return false;
  return typeof value.description === 'string' || SCHEMA_FIELDS.some((field) => isFields(value[field]));
}

/** The first names, quoted. */
function someOf(names: readonly string[]): string {
  const some = names.slice(0, 5).map((name) => `"${name}"`);
  return `${some.join(', ')}${names.length > some.length ? ', …' : ''}`;
}

/** OpenAI's chat completions wrap the tool: `{type: 'function', function: {…}}`. */
function unwrapped(item: unknown): Fields {
  if (!isFields(item)) return {};
  return isFields(item.function) ? item.function : item;
}

function toolOf(fields: Fields, index: number, server: string | undefined): ToolDefinition {
  const { name, description } = fields;
  if (typeof name !== 'string' || name === '') {
    throw new UserError(`Tool number ${index + 1} has no name. Every tool needs one, unique in its catalog.`);
  }
  const schema = SCHEMA_FIELDS.map((field) => fields[field]).find(
    (value) => value !== undefined && value !== null,
  );
  if (schema !== undefined && !isFields(schema))
    throw new UserError(`The input schema of "${name}" is no object.`);
  const own = Object.fromEntries(
    OWN_FIELDS.flatMap((field) => (fields[field] == null ? [] : [[field, fields[field]]])),
  );
  return {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: schema ?? { type: 'object' },
    ...(server !== undefined && { server }),
    ...own,
  };
}

function refuseRepeatedNames(tools: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  const repeated = tools.map(({ name }) => name).filter((name) => seen.size === seen.add(name).size);
  if (repeated.length === 0) return;
  throw new UserError(
    `${repeated.length} tools have a name that another tool has: ${someOf([...new Set(repeated)])}. ` +
      'Names identify tools: put each server into a catalog of its own, or make them differ, e.g. "mail.search".',
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
