import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const mainFile = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url));

/** An empty folder for one test file, to be removed by it. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'bandolier-e2e-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The environment of a process under test: ours, without any setting of this machine. */
export function cleanEnvironment(settings: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(BANDOLIER_|REDIS_URL$)/.test(name));
  return { ...Object.fromEntries(inherited), ...settings };
}

/** `bandolier serve` as a user starts it, in a process of its own on a free port. */
export class RunningService {
  readonly url: string;
  readonly process: ChildProcess;
  readonly #output: { text: string };

  private constructor(url: string, child: ChildProcess, output: { text: string }) {
    this.url = url;
    this.process = child;
    this.#output = output;
  }

  /**
   * Resolves when it listens; rejects with what it printed when it ends before.
   * @param launcher a command that runs the one which follows it
   */
  static async start(
    dataDir: string,
    options: readonly string[] = [],
    settings: Readonly<Record<string, string>> = {},
    launcher: readonly string[] = [],
  ): Promise<RunningService> {
    const [command, ...words] = [...launcher, process.execPath, mainFile];
    const child = spawn(command, [...words, 'serve', '--port', '0', '--data-dir', dataDir, ...options], {
      // Tests send many requests at once, on slow machines as well, and wait for all of them.
      env: cleanEnvironment({ BANDOLIER_MAX_WAIT_MS: '60000', ...settings }),
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { text: '' };
    const url = await new Promise<string>((resolve, reject) => {
      const onData = (chunk: Buffer) => {
        output.text += chunk.toString();
        const [, listening] = /listens on (http:\S+)/.exec(output.text) ?? [];
        if (listening !== undefined) resolve(listening);
      };
      child.stdout.on('data', onData);
      child.stderr.on('data', onData);
      child.once('close', (code) => reject(new Error(`It ended with code ${code}:\n${output.text}`)));
    });
    return new RunningService(url, child, output);
  }

  /** Everything it printed so far. */
  get output(): string {
    return this.#output.text;
  }

  get isAlive(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Ctrl-C, or what an init system sends. @returns the exit code. */
  async stop(signal: 'SIGINT' | 'SIGTERM' = 'SIGINT'): Promise<number | null> {
    if (!this.isAlive) return this.process.exitCode;
    const closed = once(this.process, 'close');
    this.process.kill(signal);
    const [code] = await closed;
    return code;
  }

  /** Ends the process without any warning. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    const closed = once(this.process, 'close');
    this.process.kill('SIGKILL');
    await closed;
  }

  async request<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Body }> {
    const json: Record<string, string> = method === 'GET' ? {} : { 'content-type': 'application/json' };
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(this.url + path, { method, headers: { ...json, ...headers }, body: text });
    const answer = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: answer === '' ? undefined : JSON.parse(answer),
    };
  }

  /** A request that has to succeed. */
  async ask<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.request<Body>(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Waits until everything that was accepted for a catalog has taken effect. */
  async settled(catalog = 'default'): Promise<void> {
    await until(async () => {
      const { pending } = await this.ask('GET', `/v1/rewards/health?catalog=${catalog}`);
      return pending === 0;
    });
  }
}

const LOOK_EVERY_MS = 10;
const TIMEOUT_MS = 30_000;

/** Waits for a state; fails when it does not come about. */
export async function until(isSo: () => boolean | Promise<boolean>, timeoutMs = TIMEOUT_MS): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`This did not come about in time: ${isSo}`);
    await wait(LOOK_EVERY_MS);
  }
}
