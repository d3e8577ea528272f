import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endedWithUs } from '../../tests/set-up/ended-with-us.ts';

const WATCH = fileURLToPath(new URL('watch-loop.mjs', import.meta.url));

export interface Hold {
  readonly clockMs: number;
  readonly processorMs: number;
}

export interface Answer {
  /** 0: the connection was cut. */
  readonly status: number;
  readonly text: string;
  readonly seconds: number;
}

/** `bandolier serve` in a process of its own, with an eye on its event loop and its memory. */
export class WatchedService {
  readonly url: URL;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.url = new URL(url);
  }

  static async start(main: string): Promise<WatchedService> {
    const folder = mkdtempSync(join(tmpdir(), 'bandolier-hostile-'));
    const words = ['--import', WATCH, main, 'serve', '--port', '0', '--data-dir', folder];
    const child = spawn(...endedWithUs(process.execPath, words), {
      env: { ...process.env, BANDOLIER_LOG_LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', (chunk) => {
        output += chunk;
        const [, listening] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? [];
        if (listening !== undefined) resolve(listening);
      });
      child.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${output}`)));
    });
    return new WatchedService(child, folder, url);
  }

  /** The longest hold since this was last asked. */
  async hold(): Promise<Hold> {
    const answered = once(this.#child, 'message');
    this.#child.send('take');
    return (await answered)[0] as Hold;
  }

  /** Megabytes in memory at most so far. */
  get peakMegabytes(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  send(method: string, path: string, body?: string | Buffer): Promise<Answer> {
    const start = performance.now();
    const seconds = (): number => (performance.now() - start) / 1000;
    return new Promise((resolve) => {
      const sent = request(
        new URL(path, this.url),
        { method, agent: this.#agent, headers: { 'content-type': 'application/json' } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            if (text.length < 4000) text += chunk;
          });
          response.on('close', () => resolve({ status: response.statusCode ?? 0, text, seconds: seconds() }));
        },
      );
      sent.on('error', (error) => resolve({ status: 0, text: error.message, seconds: seconds() }));
      sent.end(body);
    });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
