import { afterAll, beforeAll } from 'vitest';
import type { RunningService } from '../e2e/running-service.ts';
import { Deployment } from './deployment.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

/** Known while the tests of its suite run. */
export interface TwoRouters {
  redis: RedisServer;
  deployment: Deployment;
  first: RunningService;
  second: RunningService;
}

/** Two routers, and workers, over a durable Redis of their own: for all tests of the suite that this is called in. */
export function twoRouters({
  workers = 0,
  settings = () => ({}),
}: {
  readonly workers?: number;
  /** Of both routers; asked when they start. */
  readonly settings?: () => Readonly<Record<string, string>>;
} = {}): TwoRouters {
  const running = {} as TwoRouters;
  beforeAll(async () => {
    running.redis = await startRedis(['--appendonly', 'yes']);
    running.deployment = new Deployment(running.redis.url);
    running.first = await running.deployment.startRouter([], settings());
    running.second = await running.deployment.startRouter([], settings());
    for (let worker = 0; worker < workers; worker++) await running.deployment.startWorker();
  });
  afterAll(async () => {
    await running.deployment?.dispose();
    await running.redis?.dispose();
  });
  return running;
}
