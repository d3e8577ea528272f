import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  type InputRequest,
  type McpAddress,
  type McpConnection,
  type McpConnectionOptions,
  type McpEra,
  McpError,
} from '../outgoing/mcp/mcp-connection.ts';
import { orAborted } from '../scheduling/or-aborted.ts';

export interface ServerDefinition {
  /** Where it is. Read when the server is started, so that secrets are looked up only then. */
  address(): McpAddress;
  /** Started with the gateway and never stopped for being idle. */
  readonly eager?: boolean;
}

export interface ServerOptions {
  open(
    address: McpAddress,
    options: Pick<McpConnectionOptions, 'signal' | 'log' | 'era' | 'onInputRequest'>,
  ): Promise<McpConnection>;
  /** A server is stopped when nobody has used it for this long, ms. */
  readonly idleMs: number;
  /** Durations on a steady clock, ms. */
  now(): number;
  log(line: string): void;
  /** A connection was made: what was known about the server may be out of date. */
  onOpened(): void;
  /** Takes the values of secrets out of a text. */
  readonly hide?: (text: string) => string;
  /** The server's lists may be others than before. */
  onListChanged(list: 'tools' | 'prompts' | 'resources'): void;
}

export type ServerState = 'stopped' | 'starting' | 'running' | 'down';

export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  /** Calls that it is answering. */
  readonly inFlight: number;
  /** Since it last ran for a minute without a failure. */
  readonly failures: number;
  /** Why it is down, and when it is tried again, ms from now. */
  readonly error: string | null;
  readonly retryInMs: number | null;
}

/** Answers a question that a server of 2025-11-25 asks while it handles a call. */
export interface Asked {
  /** Whose call it is: a question is put to nobody else. */
  readonly caller: string;
  ask(request: InputRequest, signal: AbortSignal): Promise<Record<string, unknown>>;
}

/** First pause after a failure; doubled by each further one, up to the longest. */
const PAUSE_MS = 500;
const MAX_PAUSE_MS = 300_000;
/** A call waits for a server that is back within this time; else it fails at once. */
const WAIT_MS = 2_000;
/** A server that ran for so long starts again with the first pause. */
const STEADY_MS = 60_000;

/**
 * One MCP server of a gateway: started by its first use, shared by all, stopped when idle. After a crash it is started
 * again by itself, with pauses that grow, and is `down` until that has worked. What was asked in the call that it
 * crashed in is not asked again, since it may have been done.
 */
export class Server {
  readonly name: string;
  readonly #definition: ServerDefinition;
  readonly #options: ServerOptions;
  readonly #hide: (text: string) => string;
  readonly #asked = new Set<Asked>();
  /** Ends a start, too. */
  readonly #closing = new AbortController();
  #starting: Promise<McpConnection> | null = null;
  #connection: McpConnection | null = null;
  /** How many use a connection. */
  readonly #users = new Map<McpConnection, number>();
  /** Connections that no more is sent over, since the server has forgotten their sessions; the last who uses one closes it. */
  readonly #lost = new Set<McpConnection>();
  /** An ended process may hold what its successor needs, so that waits for it. */
  #ending: Promise<void> = Promise.resolve();
  #inFlight = 0;
  #idle: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #failures = 0;
  #error: string | null = null;
  #retryAt = 0;
  #startedAt = 0;
  #heldUntil = 0;
  #era: McpEra | undefined;

  constructor(name: string, definition: ServerDefinition, options: ServerOptions) {
    this.name = name;
    this.#definition = definition;
    this.#options = options;
    this.#hide = options.hide ?? ((text) => text);
    if (definition.eager === true) this.#start().catch(() => {});
  }

  get status(): ServerStatus {
    const state =
      this.#error !== null
        ? 'down'
        : this.#connection !== null
          ? 'running'
          : this.#starting !== null
            ? 'starting'
            : 'stopped';
    return {
      name: this.name,
      state,
      inFlight: this.#inFlight,
      failures: this.#failures,
      error: this.#error,
      retryInMs: this.#error === null ? null : Math.max(0, this.#retryAt - this.#options.now()),
    };
  }

  /** Does something with the running server, which is started for it. @throws McpError */
  async use<Result>(
    work: (connection: McpConnection) => Promise<Result>,
    signal?: AbortSignal,
    asked?: Asked,
  ): Promise<Result> {
    this.#inFlight++;
    clearTimeout(this.#idle);
    if (asked !== undefined) this.#asked.add(asked);
    try {
      for (let isFirst = true; ; isFirst = false) {
        const connection = await orAborted(
          this.#running(),
          signal,
          () => new McpError('aborted', 'the caller gave up'),
        );
        this.#users.set(connection, (this.#users.get(connection) ?? 0) + 1);
        try {
          return await work(connection);
        } catch (error) {
          if (!this.#isLost(error, connection)) throw error;
          // Nothing was sent: the server has forgotten a session, or ended while nobody looked.
          if (error.failure !== 'unreachable' || !isFirst) throw error;
        } finally {
          this.#leave(connection);
        }
      }
    } catch (error) {
      throw this.#withoutSecrets(error);
    } finally {
      this.#inFlight--;
      if (asked !== undefined) this.#asked.delete(asked);
      this.#stopWhenIdle();
    }
  }

  /** Keeps the server running for a task that it does by itself. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#options.now() + ms);
    this.#stopWhenIdle();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#idle);
    clearTimeout(this.#restart);
    this.#stop();
    for (const connection of this.#lost) this.#end(connection);
    await this.#starting?.catch(() => {});
    await this.#ending;
  }

  async #running(): Promise<McpConnection> {
    this.#throwIfClosed();
    if (this.#connection !== null) return this.#connection;
    if (this.#starting !== null) return this.#starting;
    const pause = this.#retryAt - this.#options.now();
    if (this.#error !== null && pause > WAIT_MS) {
      const seconds = Math.ceil(pause / 1000);
      throw new McpError(
        'unreachable',
        `the server "${this.name}" is down: ${this.#error}; next try in ${seconds} s`,
      );
    }
    return this.#start();
  }

  #start(): Promise<McpConnection> {
    this.#starting ??= this.#open().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #open(): Promise<McpConnection> {
    clearTimeout(this.#restart);
    const pause = this.#error === null ? 0 : this.#retryAt - this.#options.now();
    const { signal } = this.#closing;
    if (pause > 0) await wait(pause, undefined, { signal }).catch(() => {});
    await this.#ending;
    this.#throwIfClosed();
    let connection: McpConnection;
    try {
      connection = await this.#options.open(this.#definition.address(), {
        signal,
        log: (line) => this.#log(line),
        onInputRequest: (request, signal) => this.#ask(request, signal),
        ...(this.#era === undefined ? {} : { era: this.#era }),
      });
    } catch (error) {
      this.#throwIfClosed();
      const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
      this.#failed(reason);
      const failure =
        error instanceof McpError && error.failure === 'unauthorized' ? 'unauthorized' : 'unreachable';
      throw new McpError(failure, `the server "${this.name}" cannot be used: ${reason}`, { cause: error });
    }
    if (signal.aborted) await connection.close();
    this.#throwIfClosed();
    this.#connection = connection;
    this.#era = connection.era;
    this.#options.onOpened();
    this.#error = null;
    this.#startedAt = this.#options.now();
    connection.onListChanged((list) => this.#options.onListChanged(list));
    void connection.closed.then((reason) => this.#ended(connection, reason));
    this.#stopWhenIdle();
    return connection;
  }

  #throwIfClosed(): void {
    if (this.#closing.signal.aborted)
      throw new McpError('unreachable', `the server "${this.name}" is closed`);
  }

  #ended(connection: McpConnection, reason: string): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    // One that ends by itself while nobody needs it is started again by the next call.
    if (this.#inFlight > 0 || this.#definition.eager === true) this.#failed(reason);
  }

  #log(line: string): void {
    this.#options.log(this.#hide(line));
  }

  /** What it was caused by is left out, since loggers write that, too. */
  #withoutSecrets(error: unknown): unknown {
    const whole = inspect(error, { depth: 10, maxStringLength: null });
    if (!(error instanceof Error) || this.#hide(whole) === whole) return error;
    const message = this.#hide(error.message);
    if (!(error instanceof McpError)) return new Error(message);
    const { failure, code, data } = error;
    const hideText = (_: string, value: unknown) => (typeof value === 'string' ? this.#hide(value) : value);
    return new McpError(failure, message, {
      ...(code !== null && { code }),
      ...(data !== undefined && { data: JSON.parse(JSON.stringify(data), hideText) }),
    });
  }

  /** Over HTTP only a failing request tells that the connection is of no more use. */
  #isLost(error: unknown, connection: McpConnection): error is McpError {
    const isLost =
      error instanceof McpError && (error.failure === 'unreachable' || error.failure === 'closed');
    if (!isLost || this.#connection !== connection) return isLost;
    if (error.failure === 'closed') {
      this.#stop();
      this.#failed(error.message);
    } else {
      // What others asked meanwhile is answered, or fails, by itself, and is then asked again as well.
      this.#connection = null;
      this.#lost.add(connection);
    }
    return true;
  }

  #leave(connection: McpConnection): void {
    const users = (this.#users.get(connection) ?? 1) - 1;
    if (users > 0) this.#users.set(connection, users);
    else this.#users.delete(connection);
    if (users === 0 && this.#lost.has(connection)) this.#end(connection);
  }

  #failed(said: string): void {
    if (this.#closing.signal.aborted) return;
    const reason = this.#hide(said);
    const ran = this.#startedAt === 0 ? 0 : this.#options.now() - this.#startedAt;
    if (ran > STEADY_MS) this.#failures = 0;
    this.#startedAt = 0;
    // The program may be another version now.
    this.#era = undefined;
    this.#error = reason;
    const pause = Math.min(PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS);
    this.#failures++;
    this.#retryAt = this.#options.now() + pause;
    this.#log(`down: ${reason}; next try in ${Math.ceil(pause / 1000)} s`);
    clearTimeout(this.#restart);
    // Its tools are not routed while it is down, so no call would start it.
    this.#restart = setTimeout(() => void this.#start().catch(() => {}), pause);
    this.#restart.unref();
  }

  #stopWhenIdle(): void {
    clearTimeout(this.#idle);
    const { signal } = this.#closing;
    if (this.#inFlight > 0 || this.#connection === null || this.#definition.eager === true || signal.aborted)
      return;
    const held = this.#heldUntil - this.#options.now();
    this.#idle = setTimeout(() => this.#stop(), Math.max(this.#options.idleMs, held));
    this.#idle.unref();
  }

  /** From here on the next call starts another one: nothing can be sent to what is ending. */
  #stop(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    this.#end(connection);
  }

  #end(connection: McpConnection): void {
    this.#lost.delete(connection);
    const closed = connection.close().catch((error) => this.#log(`cannot be closed: ${error}`));
    this.#ending = Promise.all([this.#ending, closed]).then(() => {});
  }

  /** A server does not say in which call it asks. With calls of several callers, nobody is asked. */
  async #ask(request: InputRequest, signal: AbortSignal): Promise<Record<string, unknown>> {
    const asked = [...this.#asked];
    const newest = asked.at(-1);
    if (newest === undefined || asked.some(({ caller }) => caller !== newest.caller))
      return { action: 'decline' };
    return newest.ask(request, signal);
  }
}
