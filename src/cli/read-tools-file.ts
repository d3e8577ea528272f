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
  for (const member of ['tools', 'functions']) if (Array.isArray(value[member])) return value[member];
  if (isFields(value.result) && Array.isArray(value.result.tools)) return value.result.tools;
  if (typeof value.name === 'string' || isFields(value.function)) return [value];
  return Object.entries(value).map(([name, tool]) =>
    isFields(tool) ? { name, ...tool } : { name, value: tool },
  );
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
  const some = [...new Set(repeated)].slice(0, 5).map((name) => `"${name}"`);
  throw new UserError(
    `${repeated.length} tools have a name that another tool has: ${some.join(', ')}${repeated.length > 5 ? ', …' : ''}. ` +
      'Names identify tools: put each server into a catalog of its own, or make them differ, e.g. "mail.search".',
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
