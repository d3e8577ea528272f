import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { endedWithUs } from '../set-up/ended-with-us.ts';
import { installedProgram } from '../set-up/installed-program.ts';

/** Whether this machine has redis-server; where it has not, tests are skipped and say why. */
export const redisProgram = installedProgram(['redis-server'], 'redis-server');

/** A redis-server of a test, on a free port of this machine. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends it as SIGTERM or SIGKILL does. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same port, with the data that it kept. */
  start(): Promise<void>;
  dispose(): Promise<void>;
}

export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  if (redisProgram.path === null) throw new Error(redisProgram.missing);
  const program = redisProgram.path;
  const folder = await mkdtemp(join(tmpdir(), 'bandolier-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child = await launch();

  async function launch() {
    const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    // An append-only file is written before every answer, which is all that a kill -9 asks for. With the default, `everysec`, Redis
    // holds back up to two seconds while the disk is busy.
    settings.push('--appendfsync', 'no', ...options);
    const started = spawn(...endedWithUs(program, settings), { stdio: 'ignore' });
    await answers(url);
    return started;
  }

  async function stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  return {
    url,
    port,
    get pid() {
      return child.pid!;
    },
    stop,
    start: async () => {
      child = await launch();
    },
    dispose: async () => {
      await stop('SIGKILL');
      // A child that rewrites the append-only file outlives it by a moment, and may still write here.
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
}

async function answers(url: string): Promise<void> {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => {});
  // NOAUTH is an answer as well.
  await client.ping().catch(() => {});
  client.disconnect();
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
