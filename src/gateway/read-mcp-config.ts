import { basename, dirname } from 'node:path';
import type { McpAddress } from '../outgoing/mcp/mcp-connection.ts';
import { isRecord } from './proxied-names.ts';

/** A server as a configuration file names it. References to variables stand in its address as they were written. */
export interface ConfiguredServer {
  readonly name: string;
  readonly address: McpAddress;
  /** Started at once and kept running: `"eager": true`, which is our own word in these files. */
  readonly eager: boolean;
}

export interface McpConfig {
  readonly servers: readonly ConfiguredServer[];
  /** What was left out, and why, a sentence each. */
  readonly notes: readonly string[];
}

/** The file, or a reference in it, cannot be used. The message says where and how to mend it. */
export class McpConfigError extends Error {
  override readonly name = 'McpConfigError';
}

const MAX_SERVERS = 1_000;
const SHAPE = 'it needs {"mcpServers": {"<name>": {"command": …} or {"url": …}}}';

/**
 * Reads the servers from a file of Claude Desktop, Claude Code or Cursor (`mcpServers`) or of VS Code (`servers`, also
 * below `mcp`), with comments and trailing commas as editors allow them. @throws McpConfigError
 */
export function readMcpConfig(text: string, file: string): McpConfig {
  let json: unknown;
  try {
    json = JSON.parse(withoutComments(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    throw new McpConfigError(`${file} is no JSON: ${(error as Error).message}.`);
  }
  const root = isRecord(json) ? json : {};
  const mcp = isRecord(root.mcp) ? root.mcp : {};
  const entries = [root.mcpServers, root.servers, mcp.servers].find(isRecord);
  if (entries === undefined) throw new McpConfigError(`${file} names no servers: ${SHAPE}.`);
  const servers: ConfiguredServer[] = [];
  const notes: string[] = [];
  if (Object.keys(entries).length > MAX_SERVERS) {
    throw new McpConfigError(`${file} names more than ${MAX_SERVERS} servers.`);
  }
  for (const [name, entry] of Object.entries(entries)) {
    const where = `${file}: server "${name}"`;
    if (!isRecord(entry)) {
      notes.push(`${where} is left out, since it is no object: ${SHAPE}.`);
    } else if (entry.disabled === true || entry.enabled === false) {
      notes.push(`${where} is disabled and left out.`);
    } else if (entry.type === 'sse') {
      notes.push(
        `${where} speaks SSE, which MCP has given up: ask its makers for the address of streamable HTTP ("type": "http").`,
      );
    } else {
      if (entry.envFile !== undefined)
        notes.push(`${where} has an "envFile", which is not read: put its variables into "env".`);
      try {
        servers.push({ name, address: addressOf(entry, where), eager: entry.eager === true });
      } catch (error) {
        // The other servers are of use without it.
        if (!(error instanceof McpConfigError)) throw error;
        notes.push(`${error.message} It is left out.`);
      }
    }
  }
  return { servers, notes };
}

function addressOf(entry: Readonly<Record<string, unknown>>, where: string): McpAddress {
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  if (url !== undefined && entry.command !== undefined) {
    throw new McpConfigError(`${where} has both "command" and "url": keep one of them.`);
  }
  if (typeof url === 'string') {
    const headers = entry.headers === undefined ? undefined : textsOf(entry.headers, `${where}: "headers"`);
    return { url, ...(headers === undefined ? {} : { headers }) };
  }
  const { command, args = [], cwd } = entry;
  if (typeof command !== 'string' || command === '') {
    throw new McpConfigError(`${where} needs "command" (a program) or "url" (an address), in quotes.`);
  }
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string')) {
    throw new McpConfigError(`${where}: "args" needs a list of texts, each in quotes.`);
  }
  if (cwd !== undefined && typeof cwd !== 'string') throw new McpConfigError(`${where}: "cwd" needs a text.`);
  const env = entry.env === undefined ? undefined : textsOf(entry.env, `${where}: "env"`);
  return { command, args, ...(env === undefined ? {} : { env }), ...(cwd === undefined ? {} : { cwd }) };
}

function textsOf(value: unknown, where: string): Record<string, string> {
  if (!isRecord(value)) throw new McpConfigError(`${where} needs names with a text each.`);
  const texts = Object.entries(value).map(([name, text]): [string, string] => {
    // Numbers and truth values are written without quotes by many, and mean their text.
    if (typeof text === 'string' || typeof text === 'number' || typeof text === 'boolean')
      return [name, String(text)];
    throw new McpConfigError(`${where}: "${name}" needs a text, in quotes.`);
  });
  return Object.fromEntries(texts);
}

export interface Variables {
  /** Of the environment. */
  variable(name: string): string | undefined;
  /** Of the user who runs us. */
  readonly home: string;
  /** The configuration file. */
  readonly file: string;
}

/**
 * Replaces references: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${userHome}` and `${workspaceFolder}` (where the file is, or
 * its project's folder). Done when the server is started, so that no secret is kept. @throws McpConfigError
 */
export function expandAddress(address: McpAddress, server: string, variables: Variables): McpAddress {
  const text = (value: string) => expand(value, server, variables);
  const texts = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)]));
  if ('url' in address) {
    const { url, headers } = address;
    return { url: text(url), ...(headers === undefined ? {} : { headers: texts(headers) }) };
  }
  const { command, args = [], env, cwd } = address;
  return {
    command: text(command),
    args: args.map(text),
    ...(env === undefined ? {} : { env: texts(env) }),
    ...(cwd === undefined ? {} : { cwd: text(cwd) }),
  };
}

/** The letters of a name, and what counts where the variable is not set. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

function expand(value: string, server: string, { variable, home, file }: Variables): string {
  const input = /\$\{input:([^}]*)\}/.exec(value);
  if (input !== null) {
    throw new McpConfigError(
      `Server "${server}" asks its user for "${input[1]}", which nobody can answer here: write a variable of the environment in its place, e.g. \${env:${input[1].toUpperCase().replaceAll('-', '_')}}.`,
    );
  }
  return value.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) => {
    if (name === 'userHome') return home;
    if (name === 'workspaceFolder') return folderOf(file);
    // An empty variable counts as not set, as in shells.
    const set = variable(name) || fallback;
    if (set !== undefined) return set;
    throw new McpConfigError(`Server "${server}" needs the environment variable ${name}, which is not set.`);
  });
}

/** `.vscode/mcp.json` and `.cursor/mcp.json` belong to the folder above. */
function folderOf(file: string): string {
  const folder = dirname(file);
  return ['.vscode', '.cursor'].includes(basename(folder)) ? dirname(folder) : folder;
}

/** JSON without comments and without commas before a closing bracket, at the same positions. */
function withoutComments(text: string): string {
  let out = '';
  let comma = -1;
  for (let i = 0; i < text.length; ) {
    const character = text[i];
    if (character === '"') {
      let end = i + 1;
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
      out += text.slice(i, end + 1);
      i = end + 1;
      comma = -1;
    } else if (text.startsWith('//', i) || text.startsWith('/*', i)) {
      const isLine = text[i + 1] === '/';
      const found = text.indexOf(isLine ? '\n' : '*/', i + 2);
      const end = found < 0 ? text.length : found + (isLine ? 0 : 2);
      out += text.slice(i, end).replace(/[^\n]/g, ' ');
      i = end;
    } else {
      const closes = character === '}' || character === ']';
      if (closes && comma >= 0) out = `${out.slice(0, comma)} ${out.slice(comma + 1)}`;
      if (character === ',') comma = out.length;
      else if (character.trim() !== '') comma = -1;
      out += character;
      i++;
    }
  }
  return out;
}
