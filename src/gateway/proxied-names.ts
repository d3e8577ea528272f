const SCHEME = 'bandolier://';

/** Names of prompts, and of tasks: the server, a slash, the name there. */
export function nameOutside(server: string, name: string): string {
  return `${encodeURIComponent(server)}/${name}`;
}

/** Returns null for what is no such name. */
export function nameInside(name: string): { readonly server: string; readonly name: string } | null {
  const slash = name.indexOf('/');
  const server = slash < 0 ? null : decoded(name.slice(0, slash));
  return server === null ? null : { server, name: name.slice(slash + 1) };
}

/**
 * URIs of resources, and templates of URIs: `bandolier://` the server, a slash, the URI there as it is, so that a template
 * can still be filled in.
 */
export function uriOutside(server: string, uri: string): string {
  return `${SCHEME}${nameOutside(server, uri)}`;
}

/** Returns null for what is no such URI. */
export function uriInside(uri: string): { readonly server: string; readonly uri: string } | null {
  const inside = uri.startsWith(SCHEME) ? nameInside(uri.slice(SCHEME.length)) : null;
  return inside === null ? null : { server: inside.server, uri: inside.name };
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
