import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { plainWords } from '../../config/plain-words.ts';
import { elementFaults } from '../http/json-body.ts';
import { toolSchema } from '../http/wire/tool.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { openApiTools } from './openapi-tools.ts';
import { otherDocument, whatItIs } from './other-documents.ts';
import { UserError } from './terminal.ts';
import {
  type Fields,
  fieldsNotTaken,
  isFields,
  isProviderTool,
  isTool,
  type Refused,
  someOf,
  toolOf,
} from './tool-fields.ts';

export interface ReadTools {
  /** Each fits into a catalog, and has a name that no other one has. */
  readonly tools: readonly ToolDefinition[];
  /** Tools that cannot go in, and why. */
  readonly refused: readonly Refused[];
  /** Tools that their provider defines itself: there is nothing to route to. */
  readonly providerTools: readonly string[];
  /** Tools that got their server as a prefix, because tools of other servers have the same name. */
  readonly prefixed: readonly string[];
  /** Names of fields that our shape has no place for. */
  readonly ignored: readonly string[];
}

export interface ReadToolsOptions {
  /** Of tools that name none. */
  readonly server?: string;
  /** Before every name. */
  readonly prefix?: string;
}

/**
 * Reads tools in any of the shapes they come in: MCP `tools/list` results (all pages, with or without their JSON-RPC
 * envelopes), OpenAI tools (chat or responses), Anthropic tools, OpenAPI 3 documents, our own, which an export has too; as an
 * array, as `{tools: [...]}`, as an object of tools by name, as a single tool, or as JSON lines. All of them as YAML, too.
 *
 * @throws UserError that says what it is, if it holds no tools
 */
export function readToolsFile(text: string, { server, prefix = '' }: ReadToolsOptions = {}): ReadTools {
  const documents = parse(text);
  const [first] = documents;
  const read = documents.length === 1 && isOpenApi(first) ? readOpenApi(first) : readTools(documents);
  if (read.tools.length + read.refused.length === 0) {
    const [only] = read.providerTools;
    if (only === undefined) throw new UserError('There are no tools in this file.');
    throw new UserError(
      `All tools of this file are those of the provider itself: ${someOf(read.providerTools)}.`,
    );
  }
  const served = read.tools.map((tool) => (server === undefined ? tool : { server, ...tool }));
  const { tools, prefixed } = prefixRepeated(served);
  const refused = [...read.refused];
  const named = tools.map((tool) => ({ ...tool, name: prefix + tool.name }));
  return { ...read, tools: acceptable(named, refused), refused, prefixed };
}

type ReadBefore = Omit<ReadTools, 'prefixed'>;

const SHAPES =
  'Tools come as JSON, JSON lines or YAML: MCP tools/list, OpenAI, Anthropic, OpenAPI 3, or an array of {name, description, inputSchema}.';

function parse(text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (whole) {
    if (/^\s*</.test(text)) throw new UserError(`The file is HTML or XML, not JSON. ${SHAPES}`);
    const lines = text.split('\n').map((line, index) => ({ line: line.trim(), number: index + 1 }));
    const filled = lines.filter(({ line }) => line !== '');
    const parsed = jsonLines(filled);
    if (!(parsed instanceof UserError)) return parsed;
    const first = filled.find(({ line }) => !/^(?:#|%|---)/.test(line))?.line ?? '';
    const isJson = /^[[{]/.test(first);
    // A line that is JSON says what the file was meant to be; reading megabytes of such lines as YAML takes long.
    const documents = isJson && filled.length > 1 && isJsonText(first) ? [] : yamlDocuments(text, isJson);
    if (documents.length > 0) return documents;
    if (filled.length === 0) throw parsed;
    if (filled.length === 1)
      throw new UserError(`The file is not JSON: ${(whole as Error).message}. ${SHAPES}`);
    throw new UserError(`${parsed.message} ${SHAPES}`);
  }
}

/** Returns one value per line; an error that names the line if one is no JSON. */
function jsonLines(
  lines: readonly { readonly line: string; readonly number: number }[],
): unknown[] | UserError {
  const values: unknown[] = [];
  for (const { line, number } of lines) {
    try {
      values.push(JSON.parse(line));
    } catch (error) {
      const why = (error as Error).message;
      return new UserError(`The file is neither JSON nor JSON lines: line ${number}: ${why}.`);
    }
  }
  return values.length > 0 ? values : new UserError('The file is empty.');
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As in JSON, the last of several members with one name counts: comparing all of them takes quadratic time. */
const YAML_OPTIONS = { uniqueKeys: false };
/** Members that `<<` may copy in one file. */
const MAX_MERGED = 1_000_000;

/**
 * Returns the lists and objects of a YAML file; none if it is plain text.
 * @param isJson it begins like JSON: what is wrong with it as YAML says nothing
 * @throws UserError if it is YAML with a fault
 */
function yamlDocuments(text: string, isJson: boolean): unknown[] {
  try {
    const values = parseAllDocuments(text, YAML_OPTIONS).map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      // All aliases of an anchor are one value: how much a tool may stand for is judged tool by tool.
      return merged(document.toJS({ maxAliasCount: -1 }));
    });
    return values.filter((value) => typeof value === 'object' && value !== null);
  } catch (error) {
    if (isJson) return [];
    const { name, message } = error as Error;
    const [why] = message.replace('Maximum call stack size exceeded', 'it is nested too deep').split('\n');
    throw new UserError(
      name === 'YAMLParseError'
        ? `The file is not JSON, and not YAML either: ${why}`
        : `This YAML cannot be read: ${why}.`,
    );
  }
}

/** Puts what `<<` names into the objects that have it, each once; the parser does it again for every alias, which can double. */
function merged(root: unknown): unknown {
  const seen = new Set<unknown>();
  let copied = 0;
  const merge = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    for (const member of Object.values(value)) merge(member);
    if (Array.isArray(value) || !Object.hasOwn(value, '<<')) return;
    const sources = [(value as Fields)['<<']].flat();
    if (!sources.every(isFields)) return;
    Reflect.deleteProperty(value, '<<');
    for (const [key, member] of sources.flatMap((source) => Object.entries(source))) {
      if (++copied > MAX_MERGED) throw new Error(`"<<" copies more than ${MAX_MERGED} members`);
      if (Object.hasOwn(value, key)) continue;
      // An assignment to __proto__ would not make a member.
      Object.defineProperty(value, key, {
        value: member,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  };
  merge(root);
  return root;
}

function isOpenApi(value: unknown): value is Fields {
  return isFields(value) && typeof value.openapi === 'string';
}

function readOpenApi(document: Fields): ReadBefore {
  if (!/^3\.[01]\b/.test(String(document.openapi))) {
    throw new UserError(`This is OpenAPI ${String(document.openapi)}; Bandolier reads 3.0 and 3.1.`);
  }
  const { tools, refused } = openApiTools(document);
  if (tools.length + refused.length === 0) {
    throw new UserError('This OpenAPI document has no operations in `paths`, so there are no tools in it.');
  }
  return { tools, refused, providerTools: [], ignored: [] };
}

function readTools(documents: readonly unknown[]): ReadBefore {
  const [first] = documents;
  const isList = documents.length === 1 && Array.isArray(first);
  const items = isList ? itemsOf(first, false) : itemsOf(documents, documents.length === 1);
  const providerTools: string[] = [];
  const ignored = new Set<string>();
  const refused: Refused[] = [];
  const tools: ToolDefinition[] = [];
  for (const [index, item] of items.entries()) {
    if (isFields(item) && isProviderTool(item)) {
      providerTools.push(String(item.name ?? item.server_label ?? item.type));
      continue;
    }
    // OpenAI's chat completions wrap the tool: {type: 'function', function: {…}}.
    const fields = isFields(item) && isFields(item.function) ? item.function : item;
    if (!isNamed(fields)) {
      throw new UserError(`Tool number ${index + 1} has no name. ${whatItIs(fields)}`);
    }
    const tool = toolOf(fields);
    if (tool === null) refused.push({ name: fields.name, why: 'its input schema is no object' });
    else if (isTool(fields)) tools.push(tool);
    else {
      throw new UserError(
        `Number ${index + 1}, "${fields.name}", is no tool: it has no input schema. ${whatItIs(fields)}`,
      );
    }
    for (const name of fieldsNotTaken(fields)) ignored.add(name);
  }
  return { tools, refused, providerTools, ignored: [...ignored] };
}

function isNamed(value: unknown): value is Fields & { readonly name: string } {
  return isFields(value) && typeof value.name === 'string' && value.name.trim() !== '';
}

/**
 * Lists the tools of values each of which is a tool, a list of tools, a page of one, or a line of an export.
 *
 * @param isAlone the one value is the whole file
 */
function itemsOf(values: readonly unknown[], isAlone: boolean): unknown[] {
  const items: unknown[] = [];
  let pages = 0;
  let cursor: unknown = null;
  for (const value of values) {
    if (isFields(value) && isExportLine(value)) {
      if (value.kind === 'tool' && value.removedAt === null) items.push(value.tool);
      continue;
    }
    const list = listOf(value, isAlone);
    if (list === null) {
      if (cursor !== null) break;
      items.push(value);
      continue;
    }
    pages++;
    cursor = list.nextCursor;
    for (const item of list.tools) items.push(...(isNamespace(item) ? toolsOfNamespace(item) : [item]));
  }
  if (cursor === null) return items;
  throw new UserError(
    `This is page ${pages} of a longer list, and the next one is not in the file: its nextCursor is ${JSON.stringify(cursor)}. Nothing was changed. ` +
      'Ask the server for the other pages (tools/list with that cursor), and put all of them into one file, one answer per line.',
  );
}

interface ToolList {
  readonly tools: readonly unknown[];
  /** Of an MCP list that goes on; null: it does not. */
  readonly nextCursor: unknown;
}

/** @returns null when the value is no list: then it has to be a tool. @throws UserError */
function listOf(value: unknown, isAlone: boolean): ToolList | null {
  if (!isFields(value)) {
    if (!isAlone) return null;
    throw new UserError('The file has to hold tools: an array, or an object with `tools`.');
  }
  const { error, result } = value;
  if ('jsonrpc' in value && error != null) {
    const { message = JSON.stringify(error) } = isFields(error) ? error : {};
    throw new UserError(`This is a JSON-RPC error and holds no tools: ${message}`);
  }
  if (isNamespace(value)) return { tools: [value], nextCursor: null };
  const other = isAlone ? otherDocument(value) : null;
  if (other !== null) throw new UserError(`There are no tools in this file. ${other}`);
  for (const [holder, path] of [
    [value, ''],
    [result, 'result.'],
  ] as const) {
    if (!isFields(holder)) continue;
    const cursor = holder.nextCursor;
    const nextCursor = cursor === undefined || cursor === '' ? null : cursor;
    for (const member of ['tools', 'functions']) {
      const list = holder[member];
      if (Array.isArray(list)) return { tools: list, nextCursor };
      if (isAlone && member in holder && !isTool(value)) {
        return { tools: toolsByName(list, `${path}${member}`), nextCursor };
      }
    }
  }
  if ('jsonrpc' in value && 'result' in value)
    throw new UserError('`result` of this JSON-RPC answer has no `tools`.');
  if (!isAlone || isFields(value.function) || isProviderTool(value)) return null;
  if (typeof value.name === 'string' && isTool(value)) return null;
  return { tools: toolsByName(value, 'The file'), nextCursor: null };
}

/** `bandolier export` writes these; the line of a tool has the tool and what is known of it. */
function isExportLine({ kind, catalog }: Fields): boolean {
  return (
    typeof catalog === 'string' &&
    ['policy', 'experiment', 'tool', 'decision', 'reward'].includes(String(kind))
  );
}

/** OpenAI's responses API groups the functions of a server so. */
function isNamespace(value: unknown): value is Fields & { readonly tools: readonly unknown[] } {
  return isFields(value) && value.type === 'namespace' && Array.isArray(value.tools);
}

function toolsOfNamespace({ name, tools }: Fields & { readonly tools: readonly unknown[] }): unknown[] {
  return tools.map((tool) => (isFields(tool) && name !== undefined ? { server: name, ...tool } : tool));
}

/** Reads `{name: {description, …}}`. @throws UserError if a value is no tool */
function toolsByName(value: unknown, what: string): unknown[] {
  const entries = isFields(value) ? Object.entries(value) : [];
  const other = entries.find(([, tool]) => !isTool(tool));
  if (isFields(value) && other === undefined)
    return entries.map(([name, tool]) => ({ name, ...(tool as Fields) }));
  const why = other === undefined ? '' : ` "${other[0]}" has neither a description nor an input schema.`;
  throw new UserError(
    `${what} holds no tools. ${whatItIs(value)}${why}\n` +
      'Tools are an array, or an object of tools by name, each with `description` and `inputSchema`.',
  );
}

/** Puts the server before the names that tools of several servers have. */
function prefixRepeated(tools: readonly ToolDefinition[]): Pick<ReadTools, 'tools' | 'prefixed'> {
  const servers = new Map<string, Set<string | undefined>>();
  for (const { name, server } of tools) servers.set(name, (servers.get(name) ?? new Set()).add(server));
  const prefixed: string[] = [];
  const renamed = tools.map((tool) => {
    if (tool.server === undefined || servers.get(tool.name)!.size === 1) return tool;
    const name = `${tool.server.trim().replace(/\s+/g, '_')}.${tool.name}`;
    prefixed.push(name);
    return { ...tool, name };
  });
  return { tools: renamed, prefixed };
}

/** Returns the tools that a catalog takes, each once; the others are added to `refused`. */
function acceptable(tools: readonly ToolDefinition[], refused: Refused[]): ToolDefinition[] {
  const byName = new Map<string, ToolDefinition>();
  for (const tool of tools) {
    const why = faultsOf(tool);
    if (why !== null) {
      refused.push({ name: tool.name.slice(0, 100), why });
      continue;
    }
    const same = byName.get(tool.name);
    if (same === undefined) byName.set(tool.name, tool);
    else if (!isDeepStrictEqual(same, tool)) {
      refused.push({ name: tool.name, why: 'another tool of the file has this name: rename one of them' });
    }
  }
  return [...byName.values()];
}

/** What the service would say of it: one tool that it refuses would keep the others of its request out. */
function faultsOf(tool: ToolDefinition): string | null {
  const faults = elementFaults(tool);
  const issues =
    faults.length > 0 ? [] : (toolSchema.safeParse(tool, { error: plainWords }).error?.issues ?? []);
  for (const { path, message } of issues) faults.push({ path: path.join('.'), message });
  return faults.length === 0 ? null : faults.map(({ path, message }) => `${path} ${message}`).join('; ');
}
