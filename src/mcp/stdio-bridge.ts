import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';

/** Where a service answers. */
export interface ServiceAddress {
  /** `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly key?: string | undefined;
}

export interface BridgeOptions {
  /** Messages of the client. */
  readonly client: Transport;
  readonly catalog: string;
  /** Tells this client from others, also after the service was another one in between. */
  readonly sessionId: string;
  /** Returns a service that answers; is asked again when that one has gone. @throws Error when there is none */
  find(): Promise<ServiceAddress>;
  onError(error: Error): void;
}

/** A service that has gone is looked for again so often before a client is told. */
const ATTEMPTS = 5;
const PAUSE_MS = 200;
/** How long a service that was told of the end may take, ms. */
const PATIENCE_MS = 2_000;
const INTERNAL_ERROR = -32_603;
const REPLAYED = 'bandolier/initialize';

type Request = JSONRPCMessage & {
  readonly id: string | number;
  readonly method: string;
  readonly params?: { readonly _meta?: object; readonly name?: string };
};

/**
 * Carries messages between a client over stdio and the `/mcp` of a service, as they are. If the service goes – another editor that
 * ran it was closed – the next one is found, and what opened the conversation is said to it again, so that the client notices
 * nothing.
 */
export class StdioBridge {
  readonly #options: BridgeOptions;
  #link: Promise<StreamableHTTPClientTransport> | null = null;
  /** How a client of 2025-11-25 opened the conversation. */
  #opening: JSONRPCMessage[] = [];
  /** Requests that wait for their answers. */
  readonly #pending = new Map<string | number, AbortController>();
  #isClosed = false;
  #end: (() => Promise<void>) | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Carries messages until the client closes its end. @throws Error when no service is found at first */
  async run(): Promise<void> {
    const { client, onError } = this.#options;
    await this.#linked();
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    client.onerror = onError;
    client.onmessage = (message) => {
      this.#forward(message).catch(onError);
    };
    await client.start();
    await closed;
    this.#isClosed = true;
    const link = await this.#link?.catch(() => null);
    for (const waiting of this.#pending.values()) waiting.abort();
    await link?.close();
    await this.#end?.().catch(() => {});
  }

  async #forward(message: JSONRPCMessage): Promise<void> {
    if (isRequest(message)) return this.#ask(message);
    const { method, params } = message as { method?: string; params?: { requestId?: string | number } };
    const cancelled =
      method === 'notifications/cancelled' ? this.#pending.get(params?.requestId ?? '') : undefined;
    if (cancelled !== undefined && this.#opening.length === 0) {
      // In the newer revision a client over HTTP cancels by hanging up.
      return cancelled.abort();
    }
    if (method === 'notifications/initialized') this.#opening.push(message);
    await (await this.#linked()).send(message);
  }

  async #ask(request: Request): Promise<void> {
    const waiting = new AbortController();
    this.#pending.set(request.id, waiting);
    if (request.method === 'initialize') this.#opening = [request];
    for (let attempt = 1; !this.#isClosed && !waiting.signal.aborted; attempt++) {
      let link: StreamableHTTPClientTransport | null = null;
      try {
        link = await this.#linked();
        await link.send(request, {
          requestSignal: waiting.signal,
          onRequestStreamEnd: () => void this.#brokenOff(request).catch(this.#options.onError),
        });
        return;
      } catch (error) {
        if (waiting.signal.aborted) break;
        if (link !== null && hasGone(error)) this.#drop(link);
        if (hasGone(error) && attempt < ATTEMPTS && (wasNotSent(error) || isRepeatable(request))) {
          await pause(PAUSE_MS * attempt);
          continue;
        }
        return this.#fail(request, error as Error);
      }
    }
    this.#pending.delete(request.id);
  }

  /** The service went away while it answered. */
  async #brokenOff(request: Request): Promise<void> {
    if (!this.#pending.has(request.id) || this.#isClosed) return;
    if (!isRepeatable(request))
      return this.#fail(request, new Error('the service went away while it answered'));
    await pause(PAUSE_MS);
    await this.#ask(request);
  }

  async #fail({ id }: Request, error: Error): Promise<void> {
    this.#pending.delete(id);
    const answer = jsonRpcError((error as { data?: { text?: string } }).data?.text) ?? {
      code: INTERNAL_ERROR,
      message: `The tool router did not answer: ${error.message}. Whether the request took effect is not known.`,
    };
    await this.#options.client.send({ jsonrpc: '2.0', id, error: answer });
  }

  #linked(): Promise<StreamableHTTPClientTransport> {
    if (this.#link === null) {
      const link = this.#connect();
      this.#link = link;
      link.catch(() => {
        if (this.#link === link) this.#link = null;
      });
    }
    return this.#link;
  }

  async #connect(): Promise<StreamableHTTPClientTransport> {
    const { find, catalog, sessionId, client, onError } = this.#options;
    const { url, key } = await find();
    const headers = {
      'x-bandolier-session': sessionId,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    const link = new StreamableHTTPClientTransport(new URL(`${url}/mcp/${catalog}`), {
      requestInit: { headers },
      fetch: async (target, init) => {
        try {
          return await fetch(target, init);
        } catch (error) {
          if (init?.method === 'GET' && hasGone(error)) this.#relink(link);
          throw error;
        }
      },
    });
    // Clients of the newer revision have no session to end, but their task is over as well.
    this.#end = async () => {
      const session = link.sessionId === undefined ? undefined : { 'mcp-session-id': link.sessionId };
      const json = { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(PATIENCE_MS);
      await fetch(`${url}/mcp/${catalog}`, {
        method: 'DELETE',
        headers: { ...headers, ...json, ...session },
        signal,
      });
    };
    link.onerror = onError;
    link.onmessage = (message) => {
      const { id, method, result } = message as {
        id?: string | number;
        method?: string;
        result?: { protocolVersion?: string };
      };
      if (method === undefined && id !== undefined) {
        this.#pending.delete(id);
        if (result?.protocolVersion !== undefined) link.setProtocolVersion(result.protocolVersion);
        if (id === REPLAYED) return;
      }
      client.send(message).catch(onError);
    };
    await link.start();
    const [initialize, initialized] = this.#opening;
    // A client that has been told that all is well has opened the conversation, and this service does not know of it.
    if (initialized !== undefined) {
      await link.send({ ...initialize, id: REPLAYED } as JSONRPCMessage);
      await link.send(initialized);
    }
    return link;
  }

  #drop(link: StreamableHTTPClientTransport): void {
    this.#link = null;
    link.close().catch(this.#options.onError);
  }

  /** What the service says by itself comes no more: the next one is asked to. */
  #relink(link: StreamableHTTPClientTransport): void {
    if (this.#isClosed || this.#link === null) return;
    this.#drop(link);
    this.#linked().catch(this.#options.onError);
  }
}

function isRequest(message: JSONRPCMessage): message is Request {
  return 'method' in message && 'id' in message && message.id !== undefined;
}

/** To ask for it twice does no harm: only a call of a tool may have done something. */
function isRepeatable({ method, params }: Request): boolean {
  return method !== 'tools/call' || params?.name === 'find_tools' || params?.name === 'describe_tool';
}

/** There is no answer, or one of a service that is closing. */
function hasGone(error: unknown): boolean {
  return error instanceof TypeError || (error as { data?: { status?: number } }).data?.status === 503;
}

function wasNotSent(error: unknown): boolean {
  return (
    !(error instanceof TypeError) ||
    (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
  );
}

/** What a service answered in place of a result. */
function jsonRpcError(text: string | undefined): { code: number; message: string } | null {
  try {
    return (JSON.parse(text ?? '') as { error?: { code: number; message: string } }).error ?? null;
  } catch {
    return null;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
