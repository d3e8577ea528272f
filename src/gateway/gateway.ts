import { randomBytes } from 'node:crypto';
import type {
  CallToolResult,
  GetPromptResult,
  Progress,
  ReadResourceResult,
} from '@modelcontextprotocol/client';
import {
  type Listed,
  type ListedTool,
  type McpAnswer,
  type McpConnection,
  McpError,
} from '../outgoing/mcp/mcp-connection.ts';
import type { CallOutcome } from './call-outcome.ts';
import { ArgumentChecks } from './check-arguments.ts';
import { KeptResults } from './kept-results.ts';
import { OngoingCall } from './ongoing-call.ts';
import { nameInside, nameOutside, uriInside, uriOutside, withLinksOutside } from './proxied-names.ts';
import { Server, type ServerDefinition, type ServerOptions, type ServerStatus } from './server.ts';

/** Which server a tool is called at, and by which name. */
export interface CallTarget {
  readonly source: string;
  readonly nameThere: string;
  /** The tool as its server listed it, where it is known: arguments are checked against its `inputSchema`. */
  readonly tool?: ListedTool;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** `_meta` of the request; what belongs to the connection itself is not passed on. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Answers to an `input-required`, and the state that came with it. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
  /** Asks a server of 2025-11-25 for a task: `{ttl?}`. */
  readonly task?: Readonly<Record<string, unknown>>;
  /** Whose call it is. A server's question is put to the caller only if all that it is doing is his. */
  readonly caller?: string;
}

export interface GatewayOptions {
  /** Connects to a server. @throws McpError */
  readonly open: (server: string, ...how: Parameters<ServerOptions['open']>) => Promise<McpConnection>;
  readonly log: (server: string, line: string) => void;
  readonly onListChanged?: (server: string, list: 'tools' | 'prompts' | 'resources') => void;
  /** A server is stopped when nobody has used it for this long, ms. Five minutes by default. */
  readonly idleMs?: number;
  /** For an answer, counted again from each sign of progress, ms. Two minutes by default. */
  readonly callMs?: number;
  /** What one result holds at most, in characters; the rest is read by its handle. 100,000 by default. */
  readonly maxResult?: number;
  /** Tells a caller how to read the rest of a result. */
  readonly describeRest?: (handle: string, shown: number, total: number) => string;
  /** Durations on a steady clock, ms. */
  readonly now?: () => number;
}

const IDLE_MS = 300_000;
const CALL_MS = 120_000;
const MAX_RESULT = 100_000;
const MAX_KEPT = 128_000_000;
const KEEP_MS = 600_000;
/** Calls that wait for answers of their callers. */
const MAX_PARKED = 1_000;
const PARKED_MS = 600_000;
/** How long a server that works on a task is not stopped for being idle, ms, counted from each question about it. */
const TASK_MS = 3_600_000;
/** Servers that are started at once to be asked for their lists. */
const STARTS_AT_ONCE = 4;
const OVER = 'the call that asked this is over; call the tool again';

interface ParkedCall {
  readonly call: OngoingCall<McpAnswer<CallToolResult>>;
  readonly target: CallTarget;
  readonly timer: NodeJS.Timeout;
}

type Lists = 'listPrompts' | 'listResources' | 'listResourceTemplates';

/** The MCP servers of a catalog: calls go to the one that a tool came from, and what else they offer is passed on. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #now: () => number;
  readonly #servers = new Map<string, Server>();
  readonly #definitions = new Map<string, ServerDefinition>();
  readonly #checks = new ArgumentChecks();
  readonly #results: KeptResults;
  readonly #parked = new Map<string, ParkedCall>();
  /** What servers listed when they were last asked, so that they need not run to be listed. */
  readonly #listed = new Map<string, Listed<Readonly<Record<string, unknown>>>>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const maxShown = options.maxResult ?? MAX_RESULT;
    const describeRest = options.describeRest ?? describe;
    this.#results = new KeptResults({
      maxShown,
      maxKept: MAX_KEPT,
      keepMs: KEEP_MS,
      now: this.#now,
      describeRest,
    });
  }

  /** Adds a server, or gives one another definition; what it is doing then is broken off. */
  put(name: string, definition: ServerDefinition): void {
    void this.#servers.get(name)?.close();
    this.#forget(name);
    this.#definitions.set(name, definition);
    const server = new Server(name, definition, {
      open: (...how) => this.#options.open(name, ...how),
      idleMs: this.#options.idleMs ?? IDLE_MS,
      now: this.#now,
      log: (line) => this.#options.log(name, line),
      onListChanged: (list) => {
        this.#forget(name);
        this.#options.onListChanged?.(name, list);
      },
    });
    this.#servers.set(name, server);
  }

  async remove(name: string): Promise<void> {
    const server = this.#servers.get(name);
    this.#servers.delete(name);
    this.#definitions.delete(name);
    this.#forget(name);
    await server?.close();
  }

  get servers(): readonly ServerStatus[] {
    return [...this.#servers.values()].map(({ status }) => status);
  }

  /** Names of the servers that are down: their tools are not routed until they are back. */
  get down(): ReadonlySet<string> {
    return new Set(this.servers.filter(({ state }) => state === 'down').map(({ name }) => name));
  }

  /** Calls a tool. Never throws: how a call ends is its outcome. */
  async call(
    target: CallTarget,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<CallOutcome> {
    const { requestState } = options;
    const parked = requestState === undefined ? undefined : this.#parked.get(requestState);
    if (parked !== undefined) return this.#resume(requestState as string, parked, options);
    const server = this.#servers.get(target.source);
    if (server === undefined) return unavailable(`there is no server "${target.source}"`);
    const problems = this.#checks.check(target.tool?.inputSchema, args);
    if (problems.length > 0) return { kind: 'invalid-arguments', problems };
    const { meta, inputResponses, task, caller = '' } = options;
    const call = new OngoingCall<McpAnswer<CallToolResult>>(
      caller,
      this.#options.callMs ?? CALL_MS,
      options,
      (ongoing, signal) =>
        server.use(
          (connection) => {
            // A server of the older era has no such states: it would do again what it has done.
            if (requestState !== undefined && connection.era === '2025-11-25')
              throw new McpError('protocol', OVER, { code: -32_602 });
            ongoing.sent();
            return connection.callTool(target.nameThere, args, {
              signal,
              onProgress: ongoing.onProgress,
              // The call has a timeout of its own, which does not run while somebody thinks about a question.
              timeouts: { requestMs: TASK_MS },
              ...(target.tool === undefined ? {} : { tool: target.tool }),
              ...(meta === undefined ? {} : { meta }),
              ...(inputResponses === undefined ? {} : { inputResponses }),
              ...(requestState === undefined ? {} : { requestState }),
              ...(task === undefined ? {} : { task }),
            });
          },
          signal,
          ongoing,
        ),
    );
    return this.#outcome(target, call, options);
  }

  /** The part of a long result that a handle stands for; null: it is no longer kept. */
  readRest(handle: string): CallToolResult | null {
    return this.#results.read(handle);
  }

  /**
   * Asks about a task: `tasks/get`, `tasks/result`, `tasks/update`, `tasks/cancel`.
   * @param params with the `taskId` that an outcome `task` had. @throws McpError
   */
  async task(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<Record<string, unknown>>> {
    const { server, name } = inside(String(params.taskId), 'task', nameInside);
    const running = this.#server(server);
    running.hold(TASK_MS);
    const answer = await running.use(
      (connection) => connection.request(method, { ...params, taskId: name }, requestOf(options)),
      options.signal,
    );
    if (answer.kind !== 'complete') return answer;
    return { kind: 'complete', result: this.#taskOutside(server, withLinksOutside(server, answer.result)) };
  }

  /** Prompts of all servers; servers that have not been asked yet are started for it, a few at once. */
  async listPrompts(signal?: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#listAll('listPrompts', signal, (server, prompt) => ({
      ...prompt,
      name: nameOutside(server, String(prompt.name)),
    }));
  }

  /** @throws McpError */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<GetPromptResult>> {
    const there = inside(name, 'prompt', nameInside);
    const answer = await this.#server(there.server).use(
      (connection) => connection.getPrompt(there.name, args, requestOf(options)),
      options.signal,
    );
    return outside(there.server, answer);
  }

  async listResources(signal?: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#listAll('listResources', signal, (server, resource) => ({
      ...resource,
      uri: uriOutside(server, String(resource.uri)),
    }));
  }

  async listResourceTemplates(signal?: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#listAll('listResourceTemplates', signal, (server, template) => ({
      ...template,
      uriTemplate: uriOutside(server, String(template.uriTemplate)),
    }));
  }

  /** @throws McpError */
  async readResource(uri: string, options: CallOptions = {}): Promise<McpAnswer<ReadResourceResult>> {
    const there = inside(uri, 'resource', uriInside);
    const answer = await this.#server(there.server).use(
      (connection) => connection.readResource(there.uri, requestOf(options)),
      options.signal,
    );
    return outside(there.server, answer);
  }

  /** `completion/complete` for an argument of a prompt or of a template of resources. @throws McpError */
  async complete(
    params: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<Record<string, unknown>>> {
    const ref = params.ref as Readonly<Record<string, unknown>> | undefined;
    const isPrompt = ref?.type === 'ref/prompt';
    const there = isPrompt
      ? inside(String(ref.name), 'prompt', nameInside)
      : inside(String(ref?.uri), 'resource', uriInside);
    const refThere = 'uri' in there ? { ...ref, uri: there.uri } : { ...ref, name: there.name };
    return this.#server(there.server).use(
      (connection) =>
        connection.request('completion/complete', { ...params, ref: refThere }, requestOf(options)),
      options.signal,
    );
  }

  /** Ends every server, and what they are doing. */
  async close(): Promise<void> {
    for (const { call, timer } of this.#parked.values()) {
      clearTimeout(timer);
      call.end();
    }
    this.#parked.clear();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #server(name: string): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new McpError('unreachable', `there is no server "${name}"`);
    return server;
  }

  async #outcome(
    target: CallTarget,
    call: OngoingCall<McpAnswer<CallToolResult>>,
    options: CallOptions,
  ): Promise<CallOutcome> {
    try {
      const end = await call.next(options);
      if (end.kind === 'asked') return this.#park(target, call, end.questions);
      const { answer } = end;
      if (answer.kind === 'input-required') return answer;
      if (answer.kind === 'task') {
        this.#servers.get(target.source)?.hold(TASK_MS);
        return { kind: 'task', task: this.#taskOutside(target.source, answer.task) };
      }
      const result = this.#results.cut(withLinksOutside(target.source, answer.result));
      return { kind: result.isError === true ? 'tool-error' : 'ok', result };
    } catch (error) {
      return this.#failed(target, error);
    }
  }

  #park(
    target: CallTarget,
    call: OngoingCall<McpAnswer<CallToolResult>>,
    inputRequests: Readonly<Record<string, { method: string }>>,
  ): CallOutcome {
    const requestState = randomBytes(16).toString('base64url');
    const drop = () => {
      this.#parked.delete(requestState);
      call.end();
    };
    const timer = setTimeout(drop, PARKED_MS);
    timer.unref();
    this.#parked.set(requestState, { call, target, timer });
    const [oldest] = this.#parked.values();
    if (this.#parked.size > MAX_PARKED) {
      clearTimeout(oldest.timer);
      oldest.call.end();
      for (const [state, one] of this.#parked) if (one === oldest) this.#parked.delete(state);
    }
    return { kind: 'input-required', inputRequests, requestState };
  }

  #resume(requestState: string, parked: ParkedCall, options: CallOptions): Promise<CallOutcome> {
    this.#parked.delete(requestState);
    clearTimeout(parked.timer);
    parked.call.answer(options.inputResponses ?? {});
    return this.#outcome(parked.target, parked.call, options);
  }

  #failed(target: CallTarget, error: unknown): CallOutcome {
    if (!(error instanceof McpError)) {
      return {
        kind: 'protocol-error',
        code: null,
        message: error instanceof Error ? error.message : String(error),
      };
    }
    const { failure, message, code, data } = error;
    if (failure === 'aborted') return { kind: 'cancelled' };
    if (failure === 'timeout') return { kind: 'timeout', message };
    if (failure === 'unreachable' || failure === 'unauthorized') {
      return unavailable(message, this.#servers.get(target.source)?.status.retryInMs ?? null);
    }
    return { kind: 'protocol-error', code, message, ...(data === undefined ? {} : { data }) };
  }

  #taskOutside(server: string, task: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const named = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null || !('taskId' in value)) return value;
      return { ...value, taskId: nameOutside(server, String(value.taskId)) };
    };
    const outer = named(task) as Record<string, unknown>;
    return 'task' in outer ? { ...outer, task: named(outer.task) } : outer;
  }

  async #listAll<Item>(
    list: Lists,
    signal: AbortSignal | undefined,
    outsideOf: (server: string, item: Readonly<Record<string, unknown>>) => Item,
  ): Promise<readonly Item[]> {
    const names = [...this.#servers.keys()];
    const lists = new Map<string, readonly Readonly<Record<string, unknown>>[]>();
    const waiting = names.values();
    const ask = async () => {
      for (const name of waiting) {
        // One server that fails does not hide what the others offer.
        lists.set(name, await this.#listOf(name, list, signal).catch(() => []));
      }
    };
    await Promise.all(Array.from({ length: STARTS_AT_ONCE }, ask));
    return names.flatMap((name) => (lists.get(name) ?? []).map((item) => outsideOf(name, item)));
  }

  async #listOf(name: string, list: Lists, signal: AbortSignal | undefined) {
    const key = `${list} ${name}`;
    const known = this.#listed.get(key);
    if (known !== undefined) return known.items;
    const server = this.#server(name);
    if (server.status.state === 'down') return [];
    const options = signal === undefined ? {} : { signal };
    const listed = await server.use((connection: McpConnection) => connection[list](options), signal);
    this.#listed.set(key, listed);
    return listed.items;
  }

  #forget(name: string): void {
    for (const list of ['listPrompts', 'listResources', 'listResourceTemplates'])
      this.#listed.delete(`${list} ${name}`);
  }
}

function requestOf({ signal, onProgress, meta, inputResponses, requestState }: CallOptions) {
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(meta === undefined ? {} : { meta }),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

function outside<Result extends object>(server: string, answer: McpAnswer<Result>): McpAnswer<Result> {
  if (answer.kind !== 'complete') return answer;
  return { kind: 'complete', result: withLinksOutside(server, answer.result) };
}

function inside<There>(name: string, what: string, read: (name: string) => There | null): There {
  const there = read(name);
  if (there === null)
    throw new McpError('protocol', `there is no ${what} "${name.slice(0, 200)}"`, { code: -32_602 });
  return there;
}

function unavailable(message: string, retryAfterMs: number | null = null): CallOutcome {
  return { kind: 'unavailable', message, retryAfterMs };
}

function describe(handle: string, shown: number, total: number): string {
  return `[${shown} of ${total} characters until here. The rest has the handle "${handle}".]`;
}
