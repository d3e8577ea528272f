import type { McpServer, Remote, ServerProgram, SourceDefinition } from '../ledger/source-definition.ts';
import type { FaultsOf } from './formats/read-tools.ts';
import { type Fields, isFields, type Refused, toolOf } from './formats/tool-fields.ts';
import { UnreadableError } from './formats/unreadable-error.ts';
import { MAX_TOOLS, type Offer } from './plan-sync.ts';
import { type DocumentReaderParts, readDocument } from './read-document.ts';
import { readSkills } from './read-skills.ts';
import { allWithSecrets, withSecrets } from './secrets.ts';

/** How an MCP server is reached, with the values of variables in place. */
export type ServerAddress = ServerProgram | (Remote & { readonly isTrusted?: boolean });

/** A server in the configuration that the process was started with. */
export interface ConfiguredServer {
  /** @throws Error that says what is missing */
  address(): ServerAddress;
}

/** The tools of a server as it lists them; members other than the name are unchecked. */
export interface ServerTools {
  listTools(options: { signal: AbortSignal }): Promise<{
    readonly items: readonly ({ readonly name: string } & Fields)[];
    readonly ttlMs: number | null;
  }>;
  close(): Promise<void>;
}

export interface SourceReaderParts extends DocumentReaderParts {
  /** Connects to the MCP server of a source. */
  connect(
    source: string,
    address: ServerAddress,
    options: { readonly signal: AbortSignal; readonly onInputRequest: () => Promise<{ action: 'cancel' }> },
  ): Promise<ServerTools>;
  /** The server of this name in the configuration that the process was started with. */
  configuredServer(name: string): ConfiguredServer | undefined;
  /** Why a catalog does not take a tool. */
  readonly faultsOf: FaultsOf;
}

/** Reads what a source offers. @throws an error whose message says, to people, why it cannot be read */
export async function readSource(
  name: string,
  definition: SourceDefinition,
  parts: SourceReaderParts,
  signal: AbortSignal,
): Promise<Offer> {
  const offer = await offerOf(name, definition, parts, signal);
  const offered = offer.tools.length + offer.leftOut.length;
  if (offered > MAX_TOOLS) {
    throw new UnreadableError(
      `It offers ${offered} tools, and a source may have ${MAX_TOOLS}: divide it into several sources. Its tools stay as they were.`,
    );
  }
  return offer;
}

async function offerOf(
  name: string,
  definition: SourceDefinition,
  parts: SourceReaderParts,
  signal: AbortSignal,
): Promise<Offer> {
  switch (definition.kind) {
    case 'mcp':
      return readServer(name, addressOf(name, definition, parts), parts, signal);
    case 'skills':
      return readSkills(definition.path, signal);
    case 'openapi':
    case 'file':
      return readDocument(definition, parts, signal);
  }
}

/** Returns how the server of an MCP source is reached. @throws Error that says what is missing */
export function addressOf(
  name: string,
  definition: McpServer,
  { configuredServer, readVariable }: Pick<SourceReaderParts, 'configuredServer' | 'readVariable'>,
): ServerAddress {
  if ('configured' in definition) {
    const server = configuredServer(name);
    if (server !== undefined) return server.address();
    throw new UnreadableError(
      `Server "${name}" is not in the configuration that this process was started with: put it there, or remove the source.`,
    );
  }
  if ('url' in definition) {
    const { url, headers } = definition;
    return {
      url: withSecrets(url, readVariable),
      ...(headers !== undefined && { headers: allWithSecrets(headers, readVariable) }),
    };
  }
  const { command, args, env, cwd } = definition;
  return {
    command,
    ...(args !== undefined && { args: args.map((arg) => withSecrets(arg, readVariable)) }),
    ...(env !== undefined && { env: allWithSecrets(env, readVariable) }),
    ...(cwd !== undefined && { cwd }),
  };
}

async function readServer(
  source: string,
  address: ServerAddress,
  { connect }: SourceReaderParts,
  signal: AbortSignal,
): Promise<Offer> {
  // Some servers list a tool only to clients that they can ask something, as those that call it can be.
  const onInputRequest = async () => ({ action: 'cancel' }) as const;
  const connection = await connect(source, address, { signal, onInputRequest });
  try {
    const { items, ttlMs } = await connection.listTools({ signal });
    const tools = new Map<string, Offer['tools'][number]>();
    const leftOut: Refused[] = [];
    for (const item of items) {
      const tool = toolOf(withoutOurs(item));
      if (tool === null) leftOut.push({ name: item.name, why: 'its input schema is no object' });
      // Its name there is what it is called by, blanks included.
      else tools.set(item.name, { server: source, ...tool, name: item.name });
    }
    return { tools: [...tools.values()], leftOut, ...(ttlMs !== null && { ttlMs }) };
  } finally {
    await connection.close();
  }
}

/**
 * Members of tools that are ours and not MCP's. A server that sets them would say that it is another one, or take over what
 * was learned of tools that are not its own.
 */
const OURS = new Set(['server', 'kind', 'tags', 'replaces', 'metadata']);

function withoutOurs(item: { readonly name: string } & Fields): { readonly name: string } & Fields {
  const kept = Object.entries(item).filter(([field]) => !OURS.has(field));
  return { ...Object.fromEntries(kept), name: item.name };
}

/** Says to people why a source could not be read. @param hide takes out the values of secrets that a message quotes */
export function whyUnreadable(error: unknown, hide: (text: string) => string): string {
  const { message, code, path } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : FILE_ERRORS[code];
  if (known !== undefined && isFields(error)) return `${path ?? 'The path'} ${known} (${code}).`;
  const line = hide(String(message))
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  return line.slice(0, MAX_ERROR) || 'It failed without a reason.';
}

const MAX_ERROR = 500;

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'may not be read by the user of the service',
  EPERM: 'may not be read by the user of the service',
  EISDIR: 'is a folder: name a file',
  ENOTDIR: 'is no folder: name one',
  ENAMETOOLONG: 'is too long a path',
};
