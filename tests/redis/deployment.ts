import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from '../e2e/running-service.ts';
import { endedWithUs } from '../set-up/ended-with-us.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

/** `bandolier work` in a process of its own. */
export class RunningWorker {
  readonly process: ChildProcess;
  readonly #output: { text: string };

  private constructor(child: ChildProcess, output: { text: string }) {
    this.process = child;
    this.#output = output;
  }

  /** Resolves when it works; rejects with what it printed when it ends before. */
  static async start(
    redisUrl: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<RunningWorker> {
    const child = spawn(...endedWithUs(process.execPath, [mainFile, 'work']), {
      env: cleanEnvironment({ REDIS_URL: redisUrl, ...settings }),
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { text: '' };
    await new Promise<void>((resolve, reject) => {
      const onData = (chunk: Buffer) => {
        output.text += chunk.toString();
        if (output.text.includes('Working on rewards')) resolve();
      };
      child.stdout.on('data', onData);
      child.stderr.on('data', onData);
      child.once('close', (code) => reject(new Error(`It ended with code ${code}:\n${output.text}`)));
    });
    return new RunningWorker(child, output);
  }

  get output(): string {
    return this.#output.text;
  }

  get isAlive(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  /** @returns the exit code */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    if (!this.isAlive) return this.process.exitCode;
    const closed = once(this.process, 'close');
    this.process.kill(signal);
    const [code] = await closed;
    return code;
  }
}

/** Routers and workers over one Redis, each a process; none of them loads a model. */
export class Deployment {
  readonly redisUrl: string;
  readonly #folder = temporaryFolder();
  readonly routers: RunningService[] = [];
  readonly workers: RunningWorker[] = [];
  #started = 0;

  constructor(redisUrl: string) {
    this.redisUrl = redisUrl;
  }

  async startRouter(
    options: readonly string[] = [],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<RunningService> {
    const folder = join(this.#folder.path, `router-${this.#started++}`);
    const all = { REDIS_URL: this.redisUrl, BANDOLIER_MODEL: 'none', ...settings };
    const router = await RunningService.start(folder, options, all);
    this.routers.push(router);
    return router;
  }

  async startWorker(settings: Readonly<Record<string, string>> = {}): Promise<RunningWorker> {
    const worker = await RunningWorker.start(this.redisUrl, settings);
    this.workers.push(worker);
    return worker;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.routers.map((router) => router.kill()));
    await Promise.all(this.workers.map((worker) => worker.end('SIGKILL')));
    this.#folder.remove();
  }
}

/** A Redis of its own, a connection to it, and a deployment over it without any process yet. */
export async function startDeployment(
  disposals: (() => unknown)[],
  options: readonly string[] = [],
): Promise<{ redis: RedisServer; admin: RedisConnections; deployment: Deployment }> {
  const redis = await startRedis(options);
  disposals.push(() => redis.dispose());
  const admin = await RedisConnections.open(redis.url);
  disposals.push(() => admin.close());
  const deployment = new Deployment(redis.url);
  disposals.push(() => deployment.dispose());
  return { redis, admin, deployment };
}
