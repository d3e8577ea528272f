import { randomUUID } from 'node:crypto';
import {
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  type Implementation,
  isLegacyRequest,
  type McpHttpHandler,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Caller, Whereabouts } from './callers.ts';
import type { McpFront } from './front.ts';

/** What the HTTP layer knows about a request beside its body. */
export interface McpRequestInfo {
  readonly catalog: string;
  readonly parsedBody: unknown;
  /** Address of the client. */
  readonly remote: string;
}

/** A conversation with a client of 2025-11-25, which opened it with `initialize`. */
interface Session {
  readonly catalog: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
}

const MOST_SESSIONS = 1_000;
const MOST_SUBSCRIPTIONS = 1_000;
/** As in route requests. */
const MOST_UTC_OFFSET_MINUTES = 14 * 60;
/** Changes that come one after the other are announced together, ms. */
const GATHER_MS = 100;

/**
 * MCP over HTTP, for clients of both eras. Those of 2026-07-28 have no sessions: every request is answered by a server of its
 * own, and who asks follows from what it carries. Those of 2025-11-25 get a session, for what a server says by itself (a changed
 * list, questions of tools to the user). The id of a session that is not known here – after a restart, or made by another router –
 * still says who asks, and its requests are answered one by one.
 */
export class McpEndpoint {
  readonly #front: McpFront;
  readonly #onError: (error: Error) => void;
  readonly #handlers = new Map<string, McpHttpHandler>();
  /** Those that asked least recently first. */
  readonly #sessions = new Map<string, Session>();
  readonly #ending = new AbortController();
  readonly #infos = new WeakMap<Request, McpRequestInfo>();
  /** By catalog: its list as clients know it, as JSON. */
  readonly #announced = new Map<string, string | null>();
  readonly #looking = new Map<string, NodeJS.Timeout>();

  constructor(front: McpFront, onError: (error: Error) => void) {
    this.#front = front;
    this.#onError = onError;
  }

  async fetch(request: Request, info: McpRequestInfo): Promise<Response> {
    const { catalog, parsedBody } = info;
    this.#expectChanges(catalog);
    this.#infos.set(request, info);
    if (await isLegacyRequest(request, parsedBody)) {
      const response = await this.#inSession(request, info);
      if (response !== null) return response;
    }
    const lasting = methodOf(parsedBody) === 'subscriptions/listen' ? this.#endedWith(request) : request;
    return this.#handlerOf(catalog).fetch(lasting, { parsedBody });
  }

  /** An entry of this catalog was folded. Clients whose list is another one now are told, once for many entries. */
  mayHaveChanged(catalog: string): void {
    if (this.#handlers.size + this.#sessions.size === 0 || this.#looking.has(catalog)) return;
    const timer = setTimeout(() => {
      this.#looking.delete(catalog);
      this.#announce(catalog);
    }, GATHER_MS);
    this.#looking.set(catalog, timer);
  }

  /** A server behind has other prompts or resources than before. */
  announceList(catalog: string, list: 'prompts' | 'resources'): void {
    const notify = this.#handlers.get(catalog)?.notify;
    if (list === 'prompts') notify?.promptsChanged();
    else notify?.resourcesChanged();
    for (const session of this.#sessions.values()) {
      if (session.catalog !== catalog) continue;
      const { server } = session;
      const sent = list === 'prompts' ? server.sendPromptListChanged() : server.sendResourceListChanged();
      sent.catch(this.#onError);
    }
  }

  #announce(catalog: string): void {
    const list = this.#front.isServed(catalog) ? this.#front.toolsOf(catalog).json : null;
    if (list === this.#announced.get(catalog)) return;
    this.#announced.set(catalog, list);
    this.#handlers.get(catalog)?.notify.toolsChanged();
    for (const session of this.#sessions.values()) {
      if (session.catalog === catalog) session.server.sendToolListChanged().catch(this.#onError);
    }
  }

  /** Ends what lasts until its client hangs up, so that the server can close; what is being answered is answered. */
  endStreams(): void {
    this.#ending.abort();
    for (const { transport } of this.#sessions.values()) transport.closeStandaloneSSEStream();
  }

  async close(): Promise<void> {
    for (const timer of this.#looking.values()) clearTimeout(timer);
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all([
      ...[...this.#handlers.values()].map((handler) => handler.close()),
      ...sessions.map(({ server }) => server.close()),
    ]);
    await this.#front.close();
  }

  /** What a client lists from now on is what it knows. @throws Problem catalog-not-found */
  #expectChanges(catalog: string): void {
    const list = this.#front.toolsOf(catalog).json;
    if (!this.#announced.has(catalog)) this.#announced.set(catalog, list);
  }

  #handlerOf(catalog: string): McpHttpHandler {
    const known = this.#handlers.get(catalog);
    if (known !== undefined) return known;
    const handler = createMcpHandler(
      ({ requestInfo }) => this.#front.server(catalog, (context) => this.#originOf(context, requestInfo)),
      { onerror: this.#onError, maxSubscriptions: MOST_SUBSCRIPTIONS },
    );
    this.#handlers.set(catalog, handler);
    return handler;
  }

  #endedWith({ url, method, headers, signal }: Request): Request {
    return new Request(url, { method, headers, signal: AbortSignal.any([signal, this.#ending.signal]) });
  }

  /** Returns null where the request belongs to no session that is known here. */
  async #inSession(request: Request, { catalog, parsedBody }: McpRequestInfo): Promise<Response | null> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#sessions.get(id);
    if (known !== undefined && known.catalog !== catalog) return noSuchSession();
    if (request.method === 'DELETE') {
      for (const ended of [id, request.headers.get('x-bandolier-session')])
        if (ended !== null) this.#front.callers.end(ended);
    }
    if (id !== null && known !== undefined) {
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      return known.transport.handleRequest(request, { parsedBody });
    }
    if (request.method === 'DELETE') return new Response(null, { status: 200 });
    if (id !== null || methodOf(parsedBody) !== 'initialize') return null;
    const session = await this.#open(catalog);
    return session.transport.handleRequest(request, { parsedBody });
  }

  async #open(catalog: string): Promise<Session> {
    const server = this.#front.server(catalog, (context) => this.#originOf(context));
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
        const [oldest] = this.#sessions;
        if (this.#sessions.size > MOST_SESSIONS) this.#drop(...oldest);
      },
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const session = { catalog, transport, server };
    server.onerror = this.#onError;
    await server.connect(transport);
    return session;
  }

  #drop(id: string, { server }: Session): void {
    this.#sessions.delete(id);
    server.close().catch(this.#onError);
  }

  /**
   * What a request says about itself counts first, then its headers, its session, and what all requests of a client share. The user is
   * the one of the header, if there is one: a proxy that knows who asks says so in it, and what users have is read for that user.
   */
  #originOf(
    { mcpReq, http, sessionId }: ServerContext,
    requestInfo?: Request,
  ): { readonly caller: Caller; readonly where: Whereabouts } {
    const request = http?.req ?? requestInfo;
    const info = request === undefined ? undefined : this.#infos.get(request);
    const inMeta = (name: string): unknown => mcpReq._meta?.[`bandolier/${name}Id`];
    const inHeader = (name: string): string | undefined =>
      request?.headers.get(`x-bandolier-${name}`) ?? undefined;
    const valid = (value: unknown): string | undefined =>
      typeof value === 'string' && /^\P{C}{1,256}$/u.test(value) ? value : undefined;
    const place = mcpReq._meta?.['bandolier/place'] ?? inHeader('place');
    const utcOffsetMinutes = utcOffsetOf(
      mcpReq._meta?.['bandolier/utcOffsetMinutes'] ?? inHeader('utc-offset-minutes'),
    );
    const said = (name: string): string | undefined => valid(inMeta(name) ?? inHeader(name));
    const task = mcpReq._meta?.['bandolier/task'];
    const client = (mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_INFO_META_KEY] as
      | Implementation
      | undefined;
    const unitId = said('unit');
    const userId = valid(inHeader('user') ?? inMeta('user'));
    const caller = {
      catalog: info?.catalog ?? 'default',
      sessionId:
        said('session') ??
        sessionId ??
        request?.headers.get('mcp-session-id') ??
        userId ??
        unitId ??
        `${client?.name ?? 'client'}@${info?.remote ?? 'here'}`.slice(0, 256),
      ...(unitId !== undefined && { unitId }),
      ...(userId !== undefined && { userId }),
      ...(typeof task === 'string' && /^\P{C}{1,200}$/u.test(task) && { task }),
    };
    const where = {
      ...(typeof place === 'string' && /^\P{C}{1,100}$/u.test(place) && { place }),
      ...(utcOffsetMinutes !== undefined && { utcOffsetMinutes }),
    };
    return { caller, where };
  }
}

/** Sessions belong to one catalog. On a 404 clients open another one, as the specification asks of them. */
function noSuchSession(): Response {
  const error = { code: -32_001, message: 'Session not found: it was opened for another catalog.' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
}

/** @param said a number, or a header's text; undefined: it is no number of minutes from UTC */
function utcOffsetOf(said: unknown): number | undefined {
  const minutes = typeof said === 'string' && /^[+-]?\d{1,3}$/.test(said) ? Number(said) : said;
  const isOffset = typeof minutes === 'number' && Number.isInteger(minutes);
  return isOffset && Math.abs(minutes) <= MOST_UTC_OFFSET_MINUTES ? minutes : undefined;
}

function methodOf(message: unknown): unknown {
  return (Object(message) as { readonly method?: unknown }).method;
}
