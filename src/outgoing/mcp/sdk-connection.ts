import {
  CLIENT_INFO_META_KEY,
  Client,
  type JSONRPCResponse,
  type McpSubscription,
  OAuthError,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { outgoingFetch } from '../fetch.ts';
import { OutgoingError } from '../request.ts';
import { ChildTransport, NONSENSE } from './child-transport.ts';
import type {
  InputRequest,
  Listed,
  ListedTool,
  McpAddress,
  McpAnswer,
  McpConnection,
  McpConnectionOptions,
  McpEra,
  McpRequestOptions,
  McpTimeouts,
} from './mcp-connection.ts';
import { McpError } from './mcp-connection.ts';

const CONNECT_MS = 30_000;
const REQUEST_MS = 120_000;
const TOTAL_MS = 3_600_000;
const MAX_BYTES = 64_000_000;
const MAX_ITEMS = 10_000;
/** How often a list that changes while it is paged is read before it is taken as it came. */
const MAX_READINGS = 4;
/** A stream of notifications that broke off is opened again after this time, twice as long each time, ms. */
const LISTEN_AGAIN_MS = 1_000;
const LISTEN_AGAIN_MAX_MS = 300_000;

const LISTS = ['tools', 'prompts', 'resources'] as const;
type List = (typeof LISTS)[number];

/** @throws McpError */
export async function openSdkConnection(
  address: McpAddress,
  options: McpConnectionOptions,
): Promise<McpConnection> {
  const log = options.log ?? (() => {});
  const connectMs = options.timeouts?.connectMs ?? CONNECT_MS;
  const attempt = async (era: McpEra | undefined) => {
    const client = newClient(options, connectMs);
    const transport = transportOf(address, options, log);
    const closed = new Promise<string>((resolve) => {
      client.onclose = () => resolve(endOf(transport) ?? 'the connection was closed');
    });
    client.onerror = (error) => log(String(error.message).slice(0, 300));
    try {
      await client.connect(transport as Transport, {
        timeout: connectMs,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(era === '2025-11-25' ? { prior: { kind: 'legacy' } } : {}),
      });
    } catch (error) {
      await transport.close().catch(() => {});
      throw { error, end: endOf(transport) };
    }
    return new SdkConnection(client, transport, closed, options, log);
  };
  try {
    return await attempt(options.era);
  } catch (first) {
    const { error, end } = first as { error: unknown; end: string | null };
    // Some servers of the older era end when they are asked anything before `initialize`.
    const endedByProbe = end !== null && options.era === undefined && isNegotiation(error);
    if (!endedByProbe) throw connectionError(error, end, options.signal);
  }
  try {
    return await attempt('2025-11-25');
  } catch (second) {
    const { error, end } = second as { error: unknown; end: string | null };
    throw connectionError(error, end, options.signal);
  }
}

function transportOf(address: McpAddress, options: McpConnectionOptions, log: (line: string) => void) {
  if ('command' in address) return new ChildTransport(address, log);
  if (!URL.canParse(address.url))
    throw new McpError('unreachable', `"${address.url}" is no http or https address`);
  const transport = new StreamableHTTPClientTransport(new URL(address.url), {
    fetch: outgoingFetch({
      allowPrivate: options.allowPrivate,
      timeoutMs: options.timeouts?.totalMs ?? TOTAL_MS,
      maxBytes: MAX_BYTES,
    }),
    ...(address.headers === undefined ? {} : { requestInit: { headers: { ...address.headers } } }),
    ...(options.auth === undefined ? {} : { authProvider: options.auth }),
  });
  // Where the stream of a request breaks off without an answer, the SDK would let the request run into its timeout.
  const send = transport.send.bind(transport);
  transport.send = (message, sendOptions) => {
    if (!('method' in message) || !('id' in message)) return send(message, sendOptions);
    const onRequestStreamEnd = () => {
      sendOptions?.onRequestStreamEnd?.();
      const error = { code: BROKEN_OFF, message: 'the server broke off its answer' };
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    };
    return send(message, { ...sendOptions, onRequestStreamEnd });
  };
  return transport;
}

/** Not a code of JSON-RPC or MCP: an answer that we give in the server's place. */
const BROKEN_OFF = -1;

function newClient(options: McpConnectionOptions, connectMs: number): OpenClient {
  const { onInputRequest } = options;
  const client = new OpenClient(
    { name: 'bandolier', version: '0.1.0' },
    {
      // Half of the time, so that a server that keeps silent about what it does not know is still asked to initialise.
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: connectMs / 2 } },
      inputRequired: { autoFulfill: false },
      capabilities: onInputRequest === undefined ? {} : { elicitation: { form: {}, url: {} } },
      // The SDK's own validator compiles what a server sends.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  );
  if (onInputRequest !== undefined) {
    client.setRequestHandler('elicitation/create', async (request, context) => {
      const answer = await onInputRequest(
        { method: request.method, params: request.params },
        context.mcpReq.signal,
      );
      return answer as { action: 'accept' | 'decline' | 'cancel' };
    });
  }
  return client;
}

/**
 * Lets results through whose type the SDK does not know, such as those of the extension for tasks; and hands an answer
 * on after the notifications that came before it, which the SDK handles a moment later.
 */
class OpenClient extends Client {
  protected override _onresponse(response: JSONRPCResponse): void {
    const result = 'result' in response ? (response.result as Record<string, unknown> | null) : null;
    const type = result?.resultType;
    const isKnown = typeof type !== 'string' || type === 'complete' || type === 'input_required';
    const known = isKnown
      ? response
      : { ...response, result: { resultType: 'complete', content: [], [UNKNOWN_RESULT]: result } };
    queueMicrotask(() => super._onresponse(known));
  }
}

const UNKNOWN_RESULT = 'bandolier/result';

class SdkConnection implements McpConnection {
  readonly era: McpEra;
  readonly server: { readonly name: string; readonly version: string } | null;
  readonly instructions: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly closed: Promise<string>;
  readonly #client: Client;
  readonly #transport: ChildTransport | StreamableHTTPClientTransport;
  readonly #timeouts: McpTimeouts;
  readonly #log: (line: string) => void;
  readonly #listeners = new Set<(list: List) => void>();
  readonly #changes: Record<List, number> = { tools: 0, prompts: 0, resources: 0 };
  #subscription: McpSubscription | null = null;
  #listening = false;
  #listenAgain: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    client: Client,
    transport: ChildTransport | StreamableHTTPClientTransport,
    closed: Promise<string>,
    options: McpConnectionOptions,
    log: (line: string) => void,
  ) {
    this.#client = client;
    this.#transport = transport;
    this.#timeouts = options.timeouts ?? {};
    this.#log = log;
    const server = client.getServerVersion();
    this.era = client.getProtocolEra() === 'modern' ? '2026-07-28' : '2025-11-25';
    this.server = server === undefined ? null : { name: server.name, version: server.version };
    this.instructions = client.getInstructions() ?? null;
    this.capabilities = client.getServerCapabilities() ?? {};
    this.closed = closed.then((reason) => {
      this.#isClosed = true;
      clearTimeout(this.#listenAgain);
      return reason;
    });
    for (const list of LISTS) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => this.#changed(list));
    }
  }

  listTools(options?: McpRequestOptions): Promise<Listed<ListedTool>> {
    return this.#list<ListedTool>('tools', 'tools/list', 'tools', 'name', options);
  }

  listPrompts(options?: McpRequestOptions): Promise<Listed<ListedTool>> {
    return this.#list<ListedTool>('prompts', 'prompts/list', 'prompts', 'name', options);
  }

  listResources(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>> {
    return this.#list('resources', 'resources/list', 'resources', 'uri', options);
  }

  listResourceTemplates(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>> {
    return this.#list('resources', 'resources/templates/list', 'resourceTemplates', 'uriTemplate', options);
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: McpRequestOptions & { readonly tool?: ListedTool } = {},
  ): ReturnType<McpConnection['callTool']> {
    const { tool } = options;
    const params = paramsOf({ name, arguments: args }, options);
    // Over HTTP a definition may want arguments repeated in headers, which the SDK does in a method of its own.
    const hasHeaders =
      tool !== undefined &&
      'send' in this.#transport &&
      JSON.stringify(tool.inputSchema ?? {}).includes('"x-mcp-header"');
    if (!hasHeaders) return this.#ask('tools/call', params, options) as ReturnType<McpConnection['callTool']>;
    return this.#answered(options, (requestOptions) =>
      this.#client.callTool(params as never, {
        ...requestOptions,
        toolDefinition: { name, inputSchema: tool.inputSchema as never },
      }),
    ) as ReturnType<McpConnection['callTool']>;
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options?: McpRequestOptions,
  ): ReturnType<McpConnection['getPrompt']> {
    const params = paramsOf({ name, arguments: args }, options);
    return this.#ask('prompts/get', params, options) as ReturnType<McpConnection['getPrompt']>;
  }

  readResource(uri: string, options?: McpRequestOptions): ReturnType<McpConnection['readResource']> {
    return this.#ask('resources/read', paramsOf({ uri }, options), options) as ReturnType<
      McpConnection['readResource']
    >;
  }

  request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options?: McpRequestOptions,
  ): Promise<McpAnswer<Record<string, unknown>>> {
    return this.#ask(method, paramsOf(params, options), options);
  }

  onListChanged(listener: (list: List) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#listening) {
      this.#listening = true;
      void this.#listen(LISTEN_AGAIN_MS);
    }
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#listenAgain);
    if (this.#transport instanceof StreamableHTTPClientTransport) {
      // A server may refuse to end a session, or be gone.
      await within(2_000, this.#transport.terminateSession()).catch(() => {});
    }
    await this.#client.close();
    await this.#transport.close();
  }

  #changed(list: List): void {
    this.#changes[list]++;
    for (const listener of this.#listeners) listener(list);
  }

  /** Servers of 2025-11-25 say by themselves what changed; newer ones only to whoever listens. */
  async #listen(againMs: number): Promise<void> {
    const filter: Record<string, boolean> = {};
    for (const list of LISTS) {
      const offered = this.capabilities[list] as { listChanged?: boolean } | undefined;
      if (offered?.listChanged === true) filter[`${list}ListChanged`] = true;
    }
    if (this.era !== '2026-07-28' || Object.keys(filter).length === 0 || this.#isClosed) return;
    const startedAt = performance.now();
    try {
      this.#subscription = await this.#client.listen(filter);
      await this.#subscription.closed;
    } catch (error) {
      this.#log(`the server does not tell what changes: ${messageOf(error)}`);
    }
    if (this.#isClosed) return;
    const lasted = performance.now() - startedAt > LISTEN_AGAIN_MAX_MS;
    const next = lasted ? LISTEN_AGAIN_MS : Math.min(2 * againMs, LISTEN_AGAIN_MAX_MS);
    this.#listenAgain = setTimeout(() => {
      // What changed while nobody listened is not known.
      for (const list of LISTS) if (`${list}ListChanged` in filter) this.#changed(list);
      void this.#listen(next);
    }, againMs);
    this.#listenAgain.unref();
  }

  async #list<Item>(
    list: List,
    method: string,
    member: string,
    key: string,
    options: McpRequestOptions = {},
  ): Promise<Listed<Item>> {
    if (this.capabilities[list] === undefined) return { items: [], ttlMs: null };
    for (let reading = 1; ; reading++) {
      const changes = this.#changes[list];
      const { items, ttlMs, doubles, broken } = await this.#readPages(method, member, key, options).catch(
        (error) => {
          // A cursor of a list that has changed is refused.
          if (reading < MAX_READINGS && isCursorRefused(error))
            return { items: [], ttlMs: null, doubles: 0, broken: true };
          throw error;
        },
      );
      const isSteady = !broken && doubles === 0 && this.#changes[list] === changes;
      if (!isSteady && reading < MAX_READINGS) continue;
      if (doubles > 0) this.#log(`${method} names ${doubles} entries twice; the first of each is taken`);
      return { items: items as Item[], ttlMs };
    }
  }

  async #readPages(method: string, member: string, key: string, options: McpRequestOptions) {
    const items: Record<string, unknown>[] = [];
    const names = new Set<string>();
    const cursors = new Set<string>();
    let bytes = 0;
    let doubles = 0;
    let ttlMs: number | null = null;
    for (let cursor: string | undefined; ; ) {
      const params = paramsOf(cursor === undefined ? {} : { cursor }, options);
      const answer = await this.#ask(method, params, options);
      if (answer.kind !== 'complete')
        throw new McpError('nonsense', `${method} was answered by "${answer.kind}"`);
      const page = answer.result;
      if (!Array.isArray(page[member]))
        throw new McpError('nonsense', `${method} was answered without "${member}"`);
      bytes += JSON.stringify(page[member]).length;
      if (bytes > MAX_BYTES) throw new McpError('nonsense', `${method} gives more than ${MAX_BYTES} bytes`);
      for (const item of page[member]) {
        const name = typeof item === 'object' && item !== null ? item[key] : undefined;
        if (typeof name !== 'string')
          this.#log(`${method} gives an entry without "${key}", which is left out`);
        else if (names.has(name)) doubles++;
        else items.push(item);
        if (typeof name === 'string') names.add(name);
      }
      if (items.length > MAX_ITEMS)
        throw new McpError('nonsense', `${method} gives more than ${MAX_ITEMS} entries`);
      if (typeof page.ttlMs === 'number' && page.ttlMs >= 0)
        ttlMs = Math.min(ttlMs ?? page.ttlMs, page.ttlMs);
      const next = page.nextCursor;
      if (typeof next !== 'string' || next === '') return { items, ttlMs, doubles, broken: false };
      if (cursors.has(next)) throw new McpError('nonsense', `${method} gives the same page again and again`);
      cursors.add(next);
      cursor = next;
    }
  }

  #ask(
    method: string,
    params: Record<string, unknown>,
    options: McpRequestOptions = {},
  ): Promise<McpAnswer<Record<string, unknown>>> {
    return this.#answered(options, (requestOptions) =>
      this.#client.request({ method, params }, ANYTHING, requestOptions),
    );
  }

  async #answered(
    options: McpRequestOptions,
    request: (options: RequestOptions) => Promise<unknown>,
  ): Promise<McpAnswer<Record<string, unknown>>> {
    const { signal, onProgress } = options;
    const timeouts = { ...this.#timeouts, ...options.timeouts };
    let result: unknown;
    try {
      result = await request({
        timeout: timeouts.requestMs ?? REQUEST_MS,
        maxTotalTimeout: timeouts.totalMs ?? TOTAL_MS,
        resetTimeoutOnProgress: true,
        allowInputRequired: true,
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined ? {} : { onprogress: onProgress }),
      });
    } catch (error) {
      throw requestError(error, endOf(this.#transport), signal);
    }
    if (typeof result !== 'object' || result === null)
      throw new McpError('nonsense', 'the answer is no object');
    const { [UNKNOWN_RESULT]: unknown, ...known } = result as Record<string, unknown>;
    if (unknown !== undefined) return taskOf(unknown as Record<string, unknown>);
    if (known.resultType === 'input_required') {
      const { inputRequests, requestState } = known;
      return {
        kind: 'input-required',
        inputRequests: (inputRequests ?? {}) as Record<string, InputRequest>,
        ...(typeof requestState === 'string' ? { requestState } : {}),
      };
    }
    if (options.task !== undefined && typeof known.task === 'object' && known.task !== null)
      return taskOf(known);
    return { kind: 'complete', result: known };
  }
}

function taskOf(result: Record<string, unknown>): McpAnswer<Record<string, unknown>> {
  return { kind: 'task', task: result };
}

/** A schema that lets everything through: what a server sends reaches the caller as it is. */
const ANYTHING = {
  '~standard': {
    version: 1,
    vendor: 'bandolier',
    validate: (value: unknown) => ({ value: value as Record<string, unknown> }),
  },
} as const;

/** Kept by the connection, whoever the caller is. */
const RESERVED_META = new Set([PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, 'progressToken']);

function paramsOf(
  params: Readonly<Record<string, unknown>>,
  options: McpRequestOptions = {},
): Record<string, unknown> {
  const { meta, inputResponses, requestState, task } = options;
  const kept = Object.entries(meta ?? {}).filter(([key]) => !RESERVED_META.has(key));
  return {
    ...params,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(task === undefined ? {} : { task }),
    ...(kept.length === 0 ? {} : { _meta: Object.fromEntries(kept) }),
  };
}

function endOf(transport: ChildTransport | StreamableHTTPClientTransport): string | null {
  return transport instanceof ChildTransport ? transport.end : null;
}

function isNegotiation(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof McpError && error.failure === 'protocol' && error.code === -32_602;
}

function connectionError(error: unknown, end: string | null, signal: AbortSignal | undefined): McpError {
  if (error instanceof McpError) return error;
  if (end !== null && signal?.aborted !== true) return new McpError('unreachable', end, { cause: error });
  const known = requestError(error, end, signal);
  if (known.failure !== 'closed') return known;
  return new McpError('unreachable', known.message, { cause: error });
}

function requestError(error: unknown, end: string | null, signal: AbortSignal | undefined): McpError {
  if (error instanceof McpError) return error;
  const message = messageOf(error);
  if (signal?.aborted === true) return new McpError('aborted', 'the caller gave up', { cause: error });
  if (error instanceof UnauthorizedError || error instanceof OAuthError) {
    return new McpError('unauthorized', `the server wants authorization (${message})`, { cause: error });
  }
  if (error instanceof SdkHttpError) {
    const { status } = error.data as { status?: number };
    if (status === 401 || status === 403) {
      return new McpError('unauthorized', `the server refuses access (HTTP ${status})`, { cause: error });
    }
    // A session that the server has forgotten: nothing was done.
    if (status === 404)
      return new McpError('unreachable', 'the server does not know this session or address (HTTP 404)', {
        cause: error,
      });
    return new McpError('nonsense', message, { cause: error });
  }
  if (error instanceof ProtocolError) {
    if (error.code === NONSENSE) return new McpError('nonsense', error.message, { cause: error });
    if (error.code === BROKEN_OFF) return new McpError('closed', error.message, { cause: error });
    return new McpError('protocol', message, { code: error.code, data: error.data, cause: error });
  }
  const outgoing = outgoingErrorIn(error);
  if (outgoing !== null) {
    const { code } = (outgoing.cause ?? {}) as { code?: unknown };
    const isUnsent = !outgoing.passing || UNSENT.has(String(code));
    return new McpError(isUnsent ? 'unreachable' : 'closed', outgoing.message, { cause: error });
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return new McpError('timeout', 'the server did not answer in time', { cause: error });
    if (error.code === SdkErrorCode.ConnectionClosed)
      return new McpError('closed', end ?? message, { cause: error });
    if (error.code === SdkErrorCode.NotConnected)
      return new McpError('unreachable', end ?? message, { cause: error });
    return new McpError('nonsense', message, { cause: error });
  }
  if (end !== null) return new McpError('unreachable', end, { cause: error });
  if (message === 'Not connected') return new McpError('unreachable', message, { cause: error });
  return new McpError('nonsense', message, { cause: error });
}

/** Failures of a connection that was never made. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function outgoingErrorIn(error: unknown): OutgoingError | null {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one instanceof OutgoingError) return one;
  }
  return null;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}

function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
