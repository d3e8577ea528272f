import type { CallToolResult } from '@modelcontextprotocol/client';
import { type McpAnswer, type McpConnection, McpError } from '../outgoing/mcp/mcp-connection.ts';
import { type CallOptions, type CallOutcome, type CallTarget, requestOf } from './call.ts';
import { SchemaChecks } from './check-schema.ts';
import { faultOf, KeptResults } from './kept-results.ts';
import { OngoingCall } from './ongoing-call.ts';
import { ParkedCalls } from './parked-calls.ts';
import { nameInside, withLinksOutside, withTaskOutside } from './proxied-names.ts';
import { Server, type ServerDefinition, type ServerOptions, type ServerStatus } from './server.ts';
import { ServerOffers } from './server-offers.ts';

export interface GatewayOptions {
  /** Connects to a server. @throws McpError */
  readonly open: (server: string, ...how: Parameters<ServerOptions['open']>) => Promise<McpConnection>;
  readonly log: (server: string, line: string) => void;
  /** Takes the values of secrets out of what servers and their connections say about failures. */
  readonly hide?: (text: string) => string;
  readonly onListChanged?: (server: string, list: 'tools' | 'prompts' | 'resources') => void;
  /** A server is stopped when nobody has used it for this long, ms. Five minutes by default. */
  readonly idleMs?: number;
  /** For an answer, counted again from each sign of progress, ms. Two minutes by default. */
  readonly callMs?: number;
  /** What one result holds at most, in characters; the rest is read by its handle. 100,000 by default. */
  readonly maxResult?: number;
  /** Tells a caller how to read the rest of a result. */
  readonly describeRest: (handle: string, shown: number, total: number) => string;
  /** Durations on a steady clock, ms. */
  readonly now?: () => number;
}

const IDLE_MS = 300_000;
const CALL_MS = 120_000;
const MAX_RESULT = 100_000;
const MAX_KEPT = 128_000_000;
const KEEP_MS = 600_000;
/** How long a server that works on a task is not stopped for being idle, ms, counted from each question about it. */
const TASK_MS = 3_600_000;
const OVER = 'the call that asked this is over; call the tool again';

/** The MCP servers of a catalog: calls go to the one that a tool came from, and what else they offer is passed on. */
export class Gateway {
  /** Prompts, resources and completions of the servers. */
  readonly offers: ServerOffers;
  readonly #options: GatewayOptions;
  readonly #now: () => number;
  readonly #servers = new Map<string, Server>();
  readonly #checks = new SchemaChecks();
  readonly #results: KeptResults;
  readonly #parked = new ParkedCalls();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const maxShown = options.maxResult ?? MAX_RESULT;
    this.#results = new KeptResults({
      maxShown,
      maxKept: MAX_KEPT,
      keepMs: KEEP_MS,
      now: this.#now,
      describeRest: options.describeRest,
    });
    this.offers = new ServerOffers({
      keys: () => this.#servers.keys(),
      get: (name) => this.#server(name),
      log: options.log,
      now: this.#now,
    });
  }

  /** Adds a server, or gives one another definition; what it is doing then is broken off. */
  put(name: string, definition: ServerDefinition): void {
    void this.#servers.get(name)?.close();
    this.offers.forget(name);
    const server = new Server(name, definition, {
      open: (...how) => this.#options.open(name, ...how),
      idleMs: this.#options.idleMs ?? IDLE_MS,
      now: this.#now,
      ...(this.#options.hide !== undefined && { hide: this.#options.hide }),
      log: (line) => this.#options.log(name, line),
      onOpened: () => this.offers.forget(name),
      onListChanged: (list) => {
        this.offers.forget(name);
        this.#options.onListChanged?.(name, list);
      },
    });
    this.#servers.set(name, server);
  }

  async remove(name: string): Promise<void> {
    const server = this.#servers.get(name);
    this.#servers.delete(name);
    this.offers.forget(name);
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
    const parked = requestState === undefined ? null : this.#parked.take(requestState);
    if (parked !== null) {
      parked.call.answer(options.inputResponses ?? {});
      return this.#outcome(parked.target, parked.call, options);
    }
    const server = this.#servers.get(target.source);
    if (server === undefined) return unavailable(`there is no server "${target.source}"`);
    const problems = this.#checks.check(target.tool?.inputSchema, args);
    if (problems.length > 0) return { kind: 'invalid-arguments', problems };
    const { task, caller = '' } = options;
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
              ...requestOf(options),
              signal,
              onProgress: ongoing.onProgress,
              // The call has a timeout of its own, which does not run while somebody thinks about a question.
              timeouts: { requestMs: TASK_MS },
              ...(target.tool === undefined ? {} : { tool: target.tool }),
              ...(task === undefined ? {} : { task }),
            });
          },
          signal,
          ongoing,
        ),
    );
    return this.#outcome(target, call, options);
  }

  /** What a tool answered, as callers get it: with links that lead back here, cut where it is too long. */
  outcomeOf(target: CallTarget, answered: CallToolResult): CallOutcome {
    const fault = faultOf(answered);
    if (fault !== null) return { kind: 'protocol-error', code: null, message: fault };
    const result = this.#results.cut(withLinksOutside(target.source, answered));
    if (answered.isError === true) return { kind: 'tool-error', result };
    // An error has no data, and an absent result is none that fits.
    const problems = this.#checks.check(target.tool?.outputSchema, answered.structuredContent ?? null);
    return { kind: problems.length > 0 ? 'invalid-result' : 'ok', result };
  }

  /** A server that runs already, or is starting, which may list other tools than a second process of it; null: it does not run. */
  running(name: string) {
    const server = this.#servers.get(name);
    if (server === undefined || !['running', 'starting'].includes(server.status.state)) return null;
    return {
      listTools: (options: { readonly signal: AbortSignal }) =>
        server.use((connection) => connection.listTools(options), options.signal),
      close: async (): Promise<void> => {},
    };
  }

  /** The part of a long result that a handle stands for; null: it is no longer kept. */
  readRest(handle: string): CallToolResult | null {
    return this.#results.read(handle);
  }

  /**
   * Asks about a task: `tasks/get`, `tasks/result`, `tasks/update`, `tasks/cancel`.
   * @param params with the `taskId` that an outcome `task` had. What the tool answered is for `outcomeOf`. @throws McpError
   */
  async task(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<Record<string, unknown>>> {
    const { server, name } = nameInside(String(params.taskId), 'task');
    const running = this.#server(server);
    running.hold(TASK_MS);
    const answer = await running.use(
      (connection) => connection.request(method, { ...params, taskId: name }, requestOf(options)),
      options.signal,
    );
    if (answer.kind !== 'complete') return answer;
    return { kind: 'complete', result: withTaskOutside(server, answer.result) };
  }

  /** Ends every server, and what they are doing. */
  async close(): Promise<void> {
    this.#parked.close();
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
      if (end.kind === 'asked') {
        const requestState = this.#parked.park(target, call);
        return { kind: 'input-required', inputRequests: end.questions, requestState };
      }
      const { answer } = end;
      if (answer.kind === 'input-required') return answer;
      if (answer.kind === 'task') {
        this.#servers.get(target.source)?.hold(TASK_MS);
        return { kind: 'task', task: withTaskOutside(target.source, answer.task) };
      }
      return this.outcomeOf(target, answer.result);
    } catch (error) {
      return this.#failed(target, error);
    }
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
}

function unavailable(message: string, retryAfterMs: number | null = null): CallOutcome {
  return { kind: 'unavailable', message, retryAfterMs };
}
