import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { LineReader } from './line-reader.ts';

/** A program that speaks MCP over its standard input and output. */
export interface Command {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that every child gets (HOME, PATH, …). */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Longest message in bytes. A longer one is left out, and the request that it answers fails. */
const MAX_MESSAGE_BYTES = 64_000_000;
const MAX_LOG_LINE_BYTES = 2_000;
/** Lines of stderr that reach the log at once, and how many more per second. */
const LOG_LINES = 100;
const LOG_LINES_PER_SECOND = 2;
/** Not a code of JSON-RPC or MCP: marks an answer that we give where the server's cannot be used. */
export const NONSENSE = -2;
/** How long a child may take to end after its input was closed, and again after SIGTERM, ms. */
const PATIENCE_MS = 1_500;
/** How long the pipes of a child that has ended are read at most, ms. */
const PIPES_MS = 500;

/**
 * A transport over a child process. It differs from the SDK's in what servers do wrong: a long message costs no more
 * than its bytes, what is no JSON is passed over, stderr is bounded, and the whole group of processes is ended
 * (`npx` starts the server as its child). The child's input is a pipe to us, so a well-behaved server ends when we
 * are killed.
 */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK knows a transport over pipes by `stderr` and `pid`. */
  readonly stderr = null;
  readonly #command: Command;
  readonly #log: (line: string) => void;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | null = null;
  #lastLine = '';
  #end: string | null = null;
  #closed: Promise<void> = Promise.resolve();
  #logAllowance = LOG_LINES;
  #logAllowanceAt = performance.now();
  #unlogged = 0;

  constructor(command: Command, log: (line: string) => void) {
    this.#command = command;
    this.#log = log;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** How the child ended, in words; null while it runs. */
  get end(): string | null {
    return this.#end;
  }

  start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#command;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      // A group of its own, so that it can be ended with what it started.
      detached: process.platform !== 'win32',
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    const messages = new LineReader(
      MAX_MESSAGE_BYTES,
      (line) => this.#read(line),
      (head, tail) => this.#leaveOut(head, tail),
    );
    child.stdout.on('data', (chunk: Buffer) => messages.read(chunk));
    const logged = new LineReader(
      MAX_LOG_LINE_BYTES,
      (line) => this.#logLine(line),
      (head) => this.#logLine(`${head}…`),
    );
    child.stderr.on('data', (chunk: Buffer) => logged.read(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on('error', (error) => this.onerror?.(error));
    }
    this.#closed = new Promise((resolve) => {
      let gone = false;
      const close = () => {
        if (gone) return;
        gone = true;
        clearTimeout(patience);
        child.stdout.destroy();
        child.stderr.destroy();
        resolve();
        this.onclose?.();
      };
      let patience: NodeJS.Timeout | undefined;
      child.once('exit', (code, signal) => {
        const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
        this.#end = `"${command}" ${how}${this.#lastLine === '' ? '' : `; it said: ${this.#lastLine}`}`;
        kill(child, 'SIGKILL');
        // "close" says that the pipes are read to their end; a grandchild that holds them is not waited for.
        patience = setTimeout(close, PIPES_MS);
      });
      child.once('close', close);
    });
    return new Promise((resolve, reject) => {
      child.once('spawn', () => resolve());
      child.once('error', (error) => {
        this.#end ??= `"${command}" cannot be started (${error.message})`;
        reject(new Error(this.#end, { cause: error }));
        this.onerror?.(error);
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || this.#end !== null || !child.stdin.writable) {
      return Promise.reject(new Error(this.#end ?? 'the server is not running'));
    }
    return new Promise((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) =>
        error == null ? resolve() : reject(error),
      );
    });
  }

  /** Closes the child's input, which asks it to end; then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null || child.pid === undefined || this.#end !== null) return;
    child.stdin.end();
    const after = (ms: number, signal: NodeJS.Signals) => setTimeout(() => kill(child, signal), ms);
    const timers = [after(PATIENCE_MS, 'SIGTERM'), after(2 * PATIENCE_MS, 'SIGKILL')];
    await this.#closed;
    for (const timer of timers) clearTimeout(timer);
  }

  #read(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // Some servers print greetings where only messages belong.
      if (line.trim() !== '') this.#logLine(`not a message: ${line.slice(0, 200)}`);
      return;
    }
    for (const one of Array.isArray(message) ? message : [message]) this.onmessage?.(answerable(one));
  }

  /** A message that is too long is not read, but whoever waits for it is told, if it shows its id at its ends. */
  #leaveOut(head: string, tail: string): void {
    const id =
      /"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail)?.[1] ??
      /^\s*\{(?:"jsonrpc":"2.0",\s*)?"id"\s*:\s*(\d+)/.exec(head)?.[1];
    const message = `the answer is longer than ${MAX_MESSAGE_BYTES} bytes`;
    if (id === undefined) this.onerror?.(new Error(message));
    else this.onmessage?.({ jsonrpc: '2.0', id: Number(id), error: { code: -32_603, message } });
  }

  #logLine(line: string): void {
    if (line.trim() === '') return;
    this.#lastLine = line.slice(0, 300);
    const now = performance.now();
    const earned = ((now - this.#logAllowanceAt) / 1000) * LOG_LINES_PER_SECOND;
    this.#logAllowance = Math.min(LOG_LINES, this.#logAllowance + earned);
    this.#logAllowanceAt = now;
    if (this.#logAllowance < 1) {
      this.#unlogged++;
      return;
    }
    this.#logAllowance--;
    if (this.#unlogged > 0) this.#log(`${this.#unlogged} lines left out`);
    this.#unlogged = 0;
    this.#log(line);
  }
}

/** The SDK passes over an answer that is none of JSON-RPC, and whoever waits for it would wait on. */
function answerable(message: Record<string, unknown> | null): JSONRPCMessage {
  const { id, method, result, error } = message ?? {};
  const isAnswer = typeof id === 'number' && method === undefined;
  const isUsable = typeof result === 'object' ? result !== null : typeof error === 'object' && error !== null;
  if (!isAnswer || isUsable) return message as unknown as JSONRPCMessage;
  return { jsonrpc: '2.0', id, error: { code: NONSENSE, message: 'the answer is none of JSON-RPC' } };
}

function kill(child: ChildProcessByStdio<Writable, Readable, Readable>, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal);
  } catch {
    // The group has ended already.
  }
}
