import { StoreUnavailableError } from '../errors/store-errors.ts';
import { JOBS_PREFIX } from '../redis/keys.ts';
import type { RedisClient } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import { failedBeforeKey, jobKey } from './bullmq-job.ts';
import type { Job } from './job-queue.ts';

/**
 * KEYS names of queues. ARGV prefix, names to count; none: all. Answers how many jobs wait or run, and how many are delayed.
 * Delayed jobs that failed before count among the first.
 */
const COUNT = new Script(`
local pending, delayed = 0, 0
local names = {unpack(ARGV, 2)}
if #names == 0 then names = redis.call('SMEMBERS', KEYS[1]) end
for _, name in ipairs(names) do
  local queue = ARGV[1] .. ':' .. name .. ':'
  local late = redis.call('ZCARD', queue .. 'delayed')
  local again = 0
  if late > 0 then
    for _, id in ipairs(redis.call('SMEMBERS', queue .. 'failed-before')) do
      if redis.call('ZSCORE', queue .. 'delayed', id) then again = again + 1 end
    end
  end
  pending = pending + redis.call('LLEN', queue .. 'wait') + redis.call('LLEN', queue .. 'active') + again
  delayed = delayed + late - again
end
return {pending, delayed}
`);

/** Share of the free slots that a process may fill before it counts again: other processes fill them as well. */
const SHARE = 1 / 16;
const COUNT_VALID_MS = 1_000;

/** Counts the jobs of all names, and says whether there is room for more. */
export class JobCounts {
  readonly #client: RedisClient;
  readonly #maxJobs: number;
  readonly #known = new Set<string>();
  #free = 0;
  #countedAt = 0;

  constructor(client: RedisClient, maxJobs: number) {
    this.#client = client;
    this.#maxJobs = maxJobs;
  }

  /** Registers names: every process counts their jobs from now on. */
  async know(names: readonly string[]): Promise<void> {
    const fresh = names.filter((name) => !this.#known.has(name));
    if (fresh.length === 0) return;
    await this.#client.sadd(namesKey, ...fresh);
    for (const name of fresh) this.#known.add(name);
  }

  /** Forgets which names are registered: Redis was restored from a backup, which may have fewer. */
  forget(): void {
    this.#known.clear();
  }

  /** Of jobs that were ever added, by any process. */
  names(): Promise<string[]> {
    return this.#client.smembers(namesKey);
  }

  /** Of these names; of all if there are none. */
  async read(names: readonly string[] = []): Promise<{ readonly pending: number; readonly delayed: number }> {
    const args = [JOBS_PREFIX, ...names];
    const [pending, delayed] = (await COUNT.run(this.#client, [namesKey], args)) as number[];
    return { pending, delayed };
  }

  /** @throws StoreUnavailableError when there is no room for those of these jobs that are not there yet. */
  async reserve(jobs: readonly Job[]): Promise<void> {
    const now = performance.now();
    if (jobs.length > this.#free || now - this.#countedAt > COUNT_VALID_MS) {
      const { pending } = await this.read();
      if (pending + jobs.length > this.#maxJobs && pending + (await this.#absent(jobs)) > this.#maxJobs) {
        throw new StoreUnavailableError(`The job queue is full: ${pending} jobs wait.`);
      }
      this.#free = Math.floor((this.#maxJobs - pending) * SHARE);
      this.#countedAt = now;
    }
    this.#free -= jobs.length;
  }

  /** A job failed and waits for its next try. */
  async failedBefore(name: string, id: string): Promise<void> {
    await this.#client.sadd(failedBeforeKey(name), id);
  }

  /** That job runs again. */
  async runsAgain(name: string, id: string): Promise<void> {
    await this.#client.srem(failedBeforeKey(name), id);
  }

  async #absent(jobs: readonly Job[]): Promise<number> {
    const keys = [...new Set(jobs.map(({ name, id }) => jobKey(name, id)))];
    return keys.length - (await this.#client.exists(...keys));
  }
}

const namesKey = `${JOBS_PREFIX}:names`;
