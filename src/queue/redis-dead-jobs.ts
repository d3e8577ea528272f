import { JOBS_PREFIX } from '../redis/keys.ts';
import type { RedisClient } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import type { DeadJob } from './job-queue.ts';

/** KEYS order, jobs, sequence. ARGV id, job, how many are kept. Deletes the oldest beyond that number. */
const BURY = new Script(`
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[1], redis.call('INCR', KEYS[3]), ARGV[1])
local many = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if many > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, many - 1)) do
    redis.call('ZREM', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
  end
end
return 1
`);

/** KEYS order, jobs. ARGV id, number of its burial: it may have been buried again meanwhile. */
const REMOVE = new Script(`
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0') ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])
`);

const MOST_DEAD_JOBS = 10_000;
const ORDER = `${JOBS_PREFIX}:dead:order`;
const JOBS = `${JOBS_PREFIX}:dead:jobs`;
const SEQUENCE = `${JOBS_PREFIX}:dead:sequence`;

/** Jobs that were given up, in Redis, in the order of their burial. */
export class RedisDeadJobs {
  readonly #client: RedisClient;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  async bury(dead: DeadJob): Promise<void> {
    const args = [dead.job.id, JSON.stringify(dead), MOST_DEAD_JOBS];
    await BURY.run(this.#client, [ORDER, JOBS, SEQUENCE], args);
  }

  count(): Promise<number> {
    return this.#client.zcard(ORDER);
  }

  async newest(limit: number, skip = 0): Promise<DeadJob[]> {
    if (limit < 1) return [];
    const ids = await this.#client.zrevrange(ORDER, skip, skip + limit - 1);
    if (ids.length === 0) return [];
    const jobs = await this.#client.hmget(JOBS, ...ids);
    return jobs.filter((text) => text !== null).map((text) => JSON.parse(text));
  }

  /** Oldest first. */
  ids(): Promise<string[]> {
    return this.#client.zrange(ORDER, 0, '-1');
  }

  /** A buried job and the number of its burial. */
  async get(id: string): Promise<{ readonly dead: DeadJob; readonly burial: number } | null> {
    const burial = await this.#client.zscore(ORDER, id);
    const text = await this.#client.hget(JOBS, id);
    return text === null || burial === null ? null : { dead: JSON.parse(text), burial: Number(burial) };
  }

  /** Deletes this burial, and no later one of the same job. */
  async remove(id: string, burial: number): Promise<void> {
    await REMOVE.run(this.#client, [ORDER, JOBS], [id, burial]);
  }
}
