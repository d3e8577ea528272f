import { McpError } from '../outgoing/mcp/mcp-connection.ts';

const SCHEME = 'bandolier://';

/** Names of prompts, and of tasks: the server, a slash, the name there. */
export function nameOutside(server: string, name: string): string {
  return `${encodeURIComponent(server)}/${name}`;
}

/**
 * @param what the name is of, for the error.
 * @throws McpError protocol, -32602: no such name.
 */
export function nameInside(name: string, what: string): { readonly server: string; readonly name: string } {
  return partsOf(name) ?? unknownName(name, what);
}

/**
 * URIs of resources, and templates of URIs: `bandolier://` the server, a slash, the URI there as it is, so that a template
 * can still be filled in.
 */
export function uriOutside(server: string, uri: string): string {
  return `${SCHEME}${nameOutside(server, uri)}`;
}

/** @throws McpError protocol, -32602: no such URI. */
export function uriInside(uri: string): { readonly server: string; readonly uri: string } {
  const parts = uri.startsWith(SCHEME) ? partsOf(uri.slice(SCHEME.length)) : null;
  const { server, name } = parts ?? unknownName(uri, 'resource');
  return { server, uri: name };
}

/** A result of a server, with the links to its resources as they are called outside. */
export function withLinksOutside<Result extends object>(server: string, result: Result): Result {
  const block = (value: unknown): unknown => {
    if (!isRecord(value)) return value;
    if (typeof value.uri === 'string') return { ...value, uri: uriOutside(server, value.uri) };
    if (value.type === 'resource' && isRecord(value.resource))
      return { ...value, resource: block(value.resource) };
    if (isRecord(value.content)) return { ...value, content: block(value.content) };
    return value;
  };
  const changed = { ...result } as Record<string, unknown>;
  for (const key of ['content', 'contents', 'messages']) {
    if (Array.isArray(changed[key])) changed[key] = changed[key].map(block);
  }
  return changed as Result;
}

/** What a server says about a task, with the names of tasks as they are outside. */
export function withTaskOutside(
  server: string,
  said: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const named = (value: unknown): unknown => {
    if (!isRecord(value) || !('taskId' in value)) return value;
    return { ...value, taskId: nameOutside(server, String(value.taskId)) };
  };
  const outer = named(said) as Record<string, unknown>;
  return 'task' in outer ? { ...outer, task: named(outer.task) } : outer;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function partsOf(name: string): { readonly server: string; readonly name: string } | null {
  const slash = name.indexOf('/');
  if (slash < 0) return null;
  try {
    return { server: decodeURIComponent(name.slice(0, slash)), name: name.slice(slash + 1) };
  } catch {
    return null;
  }
}

function unknownName(name: string, what: string): never {
  throw new McpError('protocol', `there is no ${what} "${name.slice(0, 200)}"`, { code: -32_602 });
}
