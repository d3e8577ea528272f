import {
  type JSONRPCMessage,
  SdkErrorCode,
  SdkHttpError,
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
  /** Who its requests are for, whatever they say themselves; printable ASCII. Absent: nobody in particular. */
  readonly userId?: string;
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

/** A connection to a service. */
interface Link {
  readonly transport: Promise<StreamableHTTPClientTransport>;
  /** Requests that are sent over it, or will be, and are not answered. */
  readonly requests: Set<Waiting>;
}

/** A request that waits for its answer. */
interface Waiting {
  readonly request: Request;
  /** By the client. */
  readonly cancelled: AbortController;
  link: Link | null;
}

/**
 * Carries messages between a client over stdio and the `/mcp` of a service, as they are. If the service goes – another editor that
 * ran it was closed – the next one is found, and what opened the conversation is said to it again, so that the client notices
 * nothing.
 */
export class StdioBridge {
  readonly #options: BridgeOptions;
  /** The one that new requests take. */
  #link: Link | null = null;
  /** Where questions of services came from: their answers go there. */
  readonly #questions = new Map<string | number, Link>();
  /** How a client of 2025-11-25 opened the conversation. */
  #opening: JSONRPCMessage[] = [];
  readonly #pending = new Map<string | number, Waiting>();
  #isClosed = false;
  #end: (() => Promise<void>) | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Carries messages until the client closes its end. @throws Error when no service is found at first */
  async run(): Promise<void> {
    const { client, onError } = this.#options;
    await this.#linked().transport;
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
    const links = new Set([this.#link, ...Array.from(this.#pending.values(), ({ link }) => link)]);
    for (const { cancelled } of this.#pending.values()) cancelled.abort();
    this.#pending.clear();
    await Promise.all(Array.from(links, (link) => link !== null && close(link)));
    await this.#end?.().catch(() => {});
  }

  async #forward(message: JSONRPCMessage): Promise<void> {
    const { id, method, params } = message as {
      id?: string | number;
      method?: string;
      params?: { requestId?: string | number };
    };
    if (isRequest(message)) {
      const waiting = { request: message, cancelled: new AbortController(), link: null };
      this.#pending.set(message.id, waiting);
      return this.#ask(waiting);
    }
    const waiting =
      method === 'notifications/cancelled' ? this.#pending.get(params?.requestId ?? '') : undefined;
    if (waiting !== undefined && this.#opening.length === 0) {
      // In the newer revision a client over HTTP cancels by hanging up.
      waiting.cancelled.abort();
      return this.#done(waiting);
    }
    if (method === 'notifications/initialized') this.#opening.push(message);
    const asked = method === undefined && id !== undefined ? this.#questions.get(id) : undefined;
    if (id !== undefined) this.#questions.delete(id);
    const link = asked ?? waiting?.link ?? this.#linked();
    await (await link.transport).send(message);
    if (waiting !== undefined) this.#done(waiting);
  }

  async #ask(waiting: Waiting): Promise<void> {
    const { request } = waiting;
    const { signal } = waiting.cancelled;
    if (request.method === 'initialize') this.#opening = [request];
    for (let attempt = 1; this.#isPending(waiting); attempt++) {
      const link = this.#linked();
      waiting.link = link;
      link.requests.add(waiting);
      let isSent = false;
      try {
        const transport = await link.transport;
        isSent = true;
        await transport.send(request, {
          requestSignal: signal,
          onRequestStreamEnd: () => void this.#brokenOff(waiting).catch(this.#options.onError),
        });
        return;
      } catch (error) {
        this.#leave(waiting);
        if (!this.#isPending(waiting)) return;
        if (isSent && hasGone(error)) this.#forget(link);
        const isHarmless = !isSent || wasNotSent(error) || isRepeatable(request);
        if ((hasGone(error) || isBusy(error)) && isHarmless && attempt < ATTEMPTS) {
          await pause(PAUSE_MS * attempt);
          continue;
        }
        return this.#fail(waiting, error as Error);
      }
    }
  }

  /** The service went away while it answered. */
  async #brokenOff(waiting: Waiting): Promise<void> {
    const { request } = waiting;
    if (!this.#isPending(waiting)) return;
    this.#leave(waiting);
    if (!isRepeatable(request))
      return this.#fail(waiting, new Error('the service went away while it answered'));
    await pause(PAUSE_MS);
    await this.#ask(waiting);
  }

  async #fail(waiting: Waiting, error: Error): Promise<void> {
    this.#done(waiting);
    this.#options.onError(error);
    const answer = jsonRpcError(textIn(error)) ?? {
      code: INTERNAL_ERROR,
      message: `The tool router did not answer: ${error.message}. Whether the request took effect is not known.`,
    };
    await this.#options.client.send({ jsonrpc: '2.0', id: waiting.request.id, error: answer });
  }

  #done(waiting: Waiting): void {
    if (this.#isPending(waiting)) this.#pending.delete(waiting.request.id);
    this.#leave(waiting);
  }

  #isPending(waiting: Waiting): boolean {
    return this.#pending.get(waiting.request.id) === waiting;
  }

  /** A link that was forgotten is closed by the last request that needs it. */
  #leave(waiting: Waiting): void {
    const { link } = waiting;
    if (link === null) return;
    waiting.link = null;
    link.requests.delete(waiting);
    if (link !== this.#link && link.requests.size === 0) close(link).catch(this.#options.onError);
  }

  #linked(): Link {
    if (this.#link === null) {
      const link: Link = { transport: this.#connect(() => link), requests: new Set() };
      this.#link = link;
      link.transport.catch(() => this.#forget(link));
    }
    return this.#link;
  }

  /** New requests take another link; those that are sent over this one may still be answered. */
  #forget(link: Link): void {
    if (this.#link !== link) return;
    this.#link = null;
    if (link.requests.size === 0) close(link).catch(this.#options.onError);
  }

  /** @param self the link that this becomes the transport of, for when it is there. */
  async #connect(self: () => Link): Promise<StreamableHTTPClientTransport> {
    const { find, catalog, sessionId, userId, client, onError } = this.#options;
    const { url, key } = await find();
    const headers = {
      'x-bandolier-session': sessionId,
      // It runs where the user is, and habits go by the clock there.
      ...(userId !== undefined && {
        'x-bandolier-user': userId,
        'x-bandolier-utc-offset-minutes': String(-new Date().getTimezoneOffset()),
      }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp/${catalog}`), {
      requestInit: { headers },
      fetch: async (target, init) => {
        try {
          const response = await fetch(target, init);
          if (init?.method === 'GET' && response.status === 503 && isClosing(await response.clone().text()))
            this.#relink(self());
          return response;
        } catch (error) {
          if (init?.method === 'GET' && hasGone(error)) this.#relink(self());
          throw error;
        }
      },
    });
    // Clients of the newer revision have no session to end, but their task is over as well.
    this.#end = async () => {
      const session =
        transport.sessionId === undefined ? undefined : { 'mcp-session-id': transport.sessionId };
      const json = { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(PATIENCE_MS);
      await fetch(`${url}/mcp/${catalog}`, {
        method: 'DELETE',
        headers: { ...headers, ...json, ...session },
        signal,
      });
    };
    transport.onerror = (error) => {
      if (!isSeenTo(error)) onError(error);
    };
    transport.onmessage = (message) => {
      const { id, method, result } = message as {
        id?: string | number;
        method?: string;
        result?: { protocolVersion?: string };
      };
      if (method === undefined && id !== undefined) {
        if (result?.protocolVersion !== undefined) transport.setProtocolVersion(result.protocolVersion);
        if (id === REPLAYED) return;
        const waiting = this.#pending.get(id);
        if (waiting !== undefined) this.#done(waiting);
      } else if (id !== undefined) this.#questions.set(id, self());
      client.send(message).catch(onError);
    };
    await transport.start();
    const [initialize, initialized] = this.#opening;
    // A client that has been told that all is well has opened the conversation, and this service does not know of it.
    if (initialized !== undefined) {
      await transport.send({ ...initialize, id: REPLAYED } as JSONRPCMessage);
      await transport.send(initialized);
    }
    return transport;
  }

  /** What the service says by itself comes no more: the next one is asked to. */
  #relink(link: Link): void {
    if (this.#isClosed || this.#link !== link) return;
    this.#forget(link);
    this.#linked().transport.catch(this.#options.onError);
  }
}

async function close({ transport }: Link): Promise<void> {
  await (await transport.catch(() => null))?.close();
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
  return (
    error instanceof TypeError || (error as Error).name === 'AbortError' || statusOf(error) === 'closing'
  );
}

/** The service, or its store, cannot answer now, and has done nothing. */
function isBusy(error: unknown): boolean {
  return statusOf(error) === 'busy';
}

function wasNotSent(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return statusOf(error) !== null || code === 'ECONNREFUSED';
}

function statusOf(error: unknown): 'closing' | 'busy' | null {
  const { data } = error as { data?: { status?: number } };
  if (data?.status !== 503) return null;
  return isClosing(textIn(error) ?? '') ? 'closing' : 'busy';
}

function isClosing(answer: string): boolean {
  return answer.includes('"shutting-down"');
}

/**
 * Returns whether people need not hear of an error of a transport: who sent a message gets its error as well; and a stream of a
 * service that has gone, or is busy, is opened again, here or at the next service, and it is said if that fails for good.
 */
function isSeenTo(error: Error): boolean {
  if (error instanceof SdkHttpError && error.code !== SdkErrorCode.ClientHttpFailedToOpenStream) return true;
  return (
    hasGone(error) || isBusy(error) || /^(?:SSE stream disconnected|Failed to reconnect)/.test(error.message)
  );
}

/** What a service answered with a status of HTTP that says no. */
function textIn(error: unknown): string | undefined {
  return (error as { data?: { text?: string } }).data?.text;
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
