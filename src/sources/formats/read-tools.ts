import { isDeepStrictEqual } from 'node:util';
import type { ToolDefinition } from '../../ledger/tool-definition.ts';
import { openApiTools } from './openapi-tools.ts';
import { otherDocument, whatItIs } from './other-documents.ts';
import { parseDocuments } from './parse-documents.ts';
import {
  type Fields,
  fieldsNotTaken,
  isFields,
  isProviderTool,
  isTool,
  type Refused,
  serverPrefix,
  someOf,
  toolOf,
} from './tool-fields.ts';
import { UnreadableError } from './unreadable-error.ts';

export interface ReadTools {
  /** Each fits into a catalog, and has a name that no other one has. */
  readonly tools: readonly ToolDefinition[];
  /** Tools that cannot go in, and why. */
  readonly refused: readonly Refused[];
  /** Tools that their provider defines itself: there is nothing to route to. */
  readonly providerTools: readonly string[];
  /** Tools that got their server as a prefix, because tools of other servers have the same name. */
  readonly prefixed: readonly string[];
  readonly isOpenApi: boolean;
  /** Names of fields that our shape has no place for. */
  readonly ignored: readonly string[];
}

/** Says why a catalog does not take a tool; null: it does. */
export type FaultsOf = (tool: ToolDefinition) => string | null;

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
 * @throws UnreadableError that says what it is, if it holds no tools
 */
export function readTools(
  text: string,
  faultsOf: FaultsOf,
  { server, prefix = '' }: ReadToolsOptions = {},
): ReadTools {
  const documents = parseDocuments(text);
  const [first] = documents;
  const openApi = documents.length === 1 && isOpenApi(first) ? first : null;
  const read = openApi === null ? readList(documents) : readOpenApi(openApi);
  if (read.tools.length + read.refused.length === 0) {
    const [only] = read.providerTools;
    if (only === undefined) throw new UnreadableError('There are no tools in this file.');
    throw new UnreadableError(
      `All tools of this file are those of the provider itself: ${someOf(read.providerTools)}.`,
    );
  }
  const served = read.tools.map((tool) => (server === undefined ? tool : { server, ...tool }));
  const { tools, prefixed } = prefixRepeated(served);
  const refused = [...read.refused];
  const named = tools.map((tool) => ({ ...tool, name: prefix + tool.name }));
  return {
    ...read,
    isOpenApi: openApi !== null,
    tools: acceptable(named, refused, faultsOf),
    refused,
    prefixed,
  };
}

type ReadBefore = Omit<ReadTools, 'prefixed' | 'isOpenApi'>;

function isOpenApi(value: unknown): value is Fields {
  return isFields(value) && typeof value.openapi === 'string';
}

function readOpenApi(document: Fields): ReadBefore {
  if (!/^3\.[01]\b/.test(String(document.openapi))) {
    throw new UnreadableError(`This is OpenAPI ${String(document.openapi)}; Bandolier reads 3.0 and 3.1.`);
  }
  const { tools, refused } = openApiTools(document);
  if (tools.length + refused.length === 0) {
    throw new UnreadableError(
      'This OpenAPI document has no operations in `paths`, so there are no tools in it.',
    );
  }
  return { tools, refused, providerTools: [], ignored: [] };
}

function readList(documents: readonly unknown[]): ReadBefore {
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
      throw new UnreadableError(`Tool number ${index + 1} has no name. ${whatItIs(fields)}`);
    }
    const tool = toolOf(fields);
    if (tool === null) refused.push({ name: fields.name, why: 'its input schema is no object' });
    else if (isTool(fields)) tools.push(tool);
    else {
      throw new UnreadableError(
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
  throw new UnreadableError(
    `This is page ${pages} of a longer list, and the next one is not in the file: its nextCursor is ${JSON.stringify(cursor)}. Nothing was changed. ` +
      'Ask the server for the other pages (tools/list with that cursor), and put all of them into one file, one answer per line.',
  );
}

interface ToolList {
  readonly tools: readonly unknown[];
  /** Of an MCP list that goes on; null: it does not. */
  readonly nextCursor: unknown;
}

/** @returns null when the value is no list: then it has to be a tool. @throws UnreadableError */
function listOf(value: unknown, isAlone: boolean): ToolList | null {
  if (!isFields(value)) {
    if (!isAlone) return null;
    throw new UnreadableError('The file has to hold tools: an array, or an object with `tools`.');
  }
  const { error, result } = value;
  if ('jsonrpc' in value && error != null) {
    const { message = JSON.stringify(error) } = isFields(error) ? error : {};
    throw new UnreadableError(`This is a JSON-RPC error and holds no tools: ${message}`);
  }
  if (isNamespace(value)) return { tools: [value], nextCursor: null };
  const other = isAlone ? otherDocument(value) : null;
  if (other !== null) throw new UnreadableError(`There are no tools in this file. ${other}`);
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
    throw new UnreadableError('`result` of this JSON-RPC answer has no `tools`.');
  if (!isAlone || isFields(value.function) || isProviderTool(value)) return null;
  if (typeof value.name === 'string' && isTool(value)) return null;
  return { tools: toolsByName(value, 'The file'), nextCursor: null };
}

/** `bandolier export` writes these; the line of a tool has the tool and what is known of it. */
function isExportLine({ kind, catalog }: Fields): boolean {
  return (
    typeof catalog === 'string' &&
    ['policy', 'experiment', 'instruction', 'tool', 'decision', 'reward'].includes(String(kind))
  );
}

/** OpenAI's responses API groups the functions of a server so. */
function isNamespace(value: unknown): value is Fields & { readonly tools: readonly unknown[] } {
  return isFields(value) && value.type === 'namespace' && Array.isArray(value.tools);
}

function toolsOfNamespace({ name, tools }: Fields & { readonly tools: readonly unknown[] }): unknown[] {
  return tools.map((tool) => (isFields(tool) && name !== undefined ? { server: name, ...tool } : tool));
}

/** Reads `{name: {description, …}}`. @throws UnreadableError if a value is no tool */
function toolsByName(value: unknown, what: string): unknown[] {
  const entries = isFields(value) ? Object.entries(value) : [];
  const other = entries.find(([, tool]) => !isTool(tool));
  if (isFields(value) && other === undefined)
    return entries.map(([name, tool]) => ({ name, ...(tool as Fields) }));
  const why = other === undefined ? '' : ` "${other[0]}" has neither a description nor an input schema.`;
  throw new UnreadableError(
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
    const name = serverPrefix(tool.server) + tool.name;
    prefixed.push(name);
    return { ...tool, name };
  });
  return { tools: renamed, prefixed };
}

/** Returns the tools that a catalog takes, each once; the others are added to `refused`. */
function acceptable(
  tools: readonly ToolDefinition[],
  refused: Refused[],
  faultsOf: FaultsOf,
): ToolDefinition[] {
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
