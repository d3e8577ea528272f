import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedis } from '../../tests/redis/redis-server.ts';
import { endedWithUs } from '../../tests/set-up/ended-with-us.ts';
import { HttpLoad } from '../route/http-load.ts';

/** Clock ticks of /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** One process of the fleet, and how much processor time it has used. */
export interface Member {
  readonly kind: 'redis' | 'router' | 'worker' | 'load';
  readonly pid: number;
}

/** Redis, routers and workers, each a process of its own, which ends with this one; nothing is pinned. */
export class Fleet {
  readonly redis: RedisServer;
  readonly routers: readonly HttpLoad[];
  readonly members: readonly Member[];
  readonly #children: readonly ChildProcess[];
  readonly #folder: string;

  private constructor(
    redis: RedisServer,
    routers: readonly HttpLoad[],
    children: readonly ChildProcess[],
    members: readonly Member[],
    folder: string,
  ) {
    this.redis = redis;
    this.routers = routers;
    this.members = members;
    this.#children = children;
    this.#folder = folder;
  }

  static async start(main: string, fsync: string, routers: number, workers: number): Promise<Fleet> {
    const redis = await startRedis(['--appendonly', 'yes', '--appendfsync', fsync]);
    const folder = mkdtempSync(join(tmpdir(), 'bandolier-bench-redis-'));
    const children: ChildProcess[] = [];
    const members: Member[] = [{ kind: 'redis', pid: redis.pid }];
    const urls: string[] = [];
    const run = async (kind: Member['kind'], words: readonly string[], printed: RegExp): Promise<string> => {
      const child = spawn(...endedWithUs(process.execPath, [main, ...words]), {
        env: {
          ...process.env,
          REDIS_URL: redis.url,
          BANDOLIER_LOG_LEVEL: 'error',
          BANDOLIER_MAX_WAIT_MS: '60000',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      members.push({ kind, pid: child.pid! });
      return output(child, printed);
    };
    for (let n = 0; n < routers; n++) {
      const words = ['serve', '--port', '0', '--data-dir', join(folder, `router-${n}`)];
      urls.push(await run('router', words, /(http:\/\/127\.0\.0\.1:\d+)/));
    }
    for (let n = 0; n < workers; n++) await run('worker', ['work'], /(Working)/);
    members.push({ kind: 'load', pid: process.pid });
    const loads = urls.map((url) => new HttpLoad(url));
    return new Fleet(redis, loads, children, members, folder);
  }

  /** Seconds of processor time so far, all threads, by kind of process. */
  cpuSeconds(): Record<Member['kind'], number> {
    const seconds = { redis: 0, router: 0, worker: 0, load: 0 };
    for (const { kind, pid } of this.members) seconds[kind] += cpuSecondsOf(pid);
    return seconds;
  }

  signalWorkers(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const { kind, pid } of this.members) if (kind === 'worker') process.kill(pid, signal);
  }

  async stop(): Promise<void> {
    for (const load of this.routers) load.close();
    await Promise.all(
      this.#children.map(async (child) => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }),
    );
    await this.redis.dispose();
    rmSync(this.#folder, { recursive: true });
  }
}

function output(child: ChildProcess, printed: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk) => {
      text += chunk;
      const [, found] = printed.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`A process ended with ${code}:\n${text}`)));
  });
}

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
