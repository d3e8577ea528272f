import { SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import { type List, ListChanges } from './list-changes.ts';
import {
  type Listed,
  type ListedTool,
  type McpAddress,
  type McpConnection,
  type McpConnectionOptions,
  type McpEra,
  McpError,
  type McpRequestOptions,
} from './mcp-connection.ts';
import { type ListPlace, readList } from './read-list.ts';
import { SdkClient } from './sdk-client.ts';
import { connectionError } from './sdk-errors.ts';
import { endOf, endSession, type SdkTransport, transportOf } from './sdk-transport.ts';

const CONNECT_MS = 30_000;

/** Connects with the SDK: a server is asked for its era, unless that is known. @throws McpError */
export async function openSdkConnection(
  address: McpAddress,
  options: McpConnectionOptions,
): Promise<McpConnection> {
  const log = options.log ?? (() => {});
  const connectMs = options.timeouts?.connectMs ?? CONNECT_MS;
  const attempt = async (era: McpEra | undefined) => {
    const transport = transportOf(address, options, log);
    const client = new SdkClient(transport, options, connectMs);
    const closed = new Promise<string>((resolve) => {
      client.onclose = () => resolve(endOf(transport) ?? 'the connection was closed');
    });
    client.onerror = (error) => log(String(error.message).slice(0, 300));
    // The SDK's probe for the era knows no signal.
    const abort = (): void => void transport.close().catch(() => {});
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      options.signal?.throwIfAborted();
      await client.connect(transport as Transport, {
        timeout: connectMs,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(era === '2025-11-25' ? { prior: { kind: 'legacy' } } : {}),
      });
    } catch (error) {
      await transport.close().catch(() => {});
      throw { error, end: endOf(transport) };
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
    return new SdkConnection(client, transport, closed, log);
  };
  try {
    return await attempt(options.era);
  } catch (first) {
    if (first instanceof McpError) throw first;
    const { error, end } = first as { error: unknown; end: string | null };
    // Some servers of the older era end when they are asked anything before `initialize`.
    const isAborted = options.signal?.aborted === true;
    const endedByProbe = end !== null && options.era === undefined && isNegotiation(error) && !isAborted;
    if (!endedByProbe) throw connectionError(error, end, options.signal);
  }
  try {
    return await attempt('2025-11-25');
  } catch (second) {
    const { error, end } = second as { error: unknown; end: string | null };
    throw connectionError(error, end, options.signal);
  }
}

const TOOLS: ListPlace = { method: 'tools/list', member: 'tools', key: 'name' };
const PROMPTS: ListPlace = { method: 'prompts/list', member: 'prompts', key: 'name' };
const RESOURCES: ListPlace = { method: 'resources/list', member: 'resources', key: 'uri' };
const TEMPLATES: ListPlace = {
  method: 'resources/templates/list',
  member: 'resourceTemplates',
  key: 'uriTemplate',
};

class SdkConnection implements McpConnection {
  readonly era: McpEra;
  readonly server: { readonly name: string; readonly version: string } | null;
  readonly instructions: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly closed: Promise<string>;
  readonly #client: SdkClient;
  readonly #transport: SdkTransport;
  readonly #log: (line: string) => void;
  readonly #changes: ListChanges;

  constructor(
    client: SdkClient,
    transport: SdkTransport,
    closed: Promise<string>,
    log: (line: string) => void,
  ) {
    this.#client = client;
    this.#transport = transport;
    this.#log = log;
    const server = client.getServerVersion();
    this.era = client.getProtocolEra() === 'modern' ? '2026-07-28' : '2025-11-25';
    this.server = server === undefined ? null : { name: server.name, version: server.version };
    this.instructions = client.getInstructions() ?? null;
    this.capabilities = client.getServerCapabilities() ?? {};
    this.#changes = new ListChanges(client, this.era, this.capabilities, log);
    this.closed = closed.then((reason) => {
      this.#changes.close();
      return reason;
    });
  }

  listTools(options?: McpRequestOptions): Promise<Listed<ListedTool>> {
    return this.#list('tools', TOOLS, options);
  }

  listPrompts(options?: McpRequestOptions): Promise<Listed<ListedTool>> {
    return this.#list('prompts', PROMPTS, options);
  }

  listResources(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>> {
    return this.#list('resources', RESOURCES, options);
  }

  listResourceTemplates(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>> {
    return this.#list('resources', TEMPLATES, options);
  }

  callTool(...call: Parameters<McpConnection['callTool']>): ReturnType<McpConnection['callTool']> {
    return this.#client.askTool(...call) as ReturnType<McpConnection['callTool']>;
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options?: McpRequestOptions,
  ): ReturnType<McpConnection['getPrompt']> {
    const params = { name, arguments: args };
    return this.#client.ask('prompts/get', params, options) as ReturnType<McpConnection['getPrompt']>;
  }

  readResource(uri: string, options?: McpRequestOptions): ReturnType<McpConnection['readResource']> {
    return this.#client.ask('resources/read', { uri }, options) as ReturnType<McpConnection['readResource']>;
  }

  request(...request: Parameters<McpConnection['request']>): ReturnType<McpConnection['request']> {
    return this.#client.ask(...request);
  }

  onListChanged(listener: (list: List) => void): () => void {
    return this.#changes.onChange(listener);
  }

  async close(): Promise<void> {
    this.#changes.close();
    await endSession(this.#transport);
    await this.#client.close();
    await this.#transport.close();
  }

  async #list<Item>(list: List, place: ListPlace, options?: McpRequestOptions): Promise<Listed<Item>> {
    if (this.capabilities[list] === undefined) return { items: [], ttlMs: null };
    return readList(place, {
      page: (params) => this.#client.ask(place.method, params, options),
      changes: () => this.#changes.count(list),
      log: this.#log,
    });
  }
}

function isNegotiation(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}
