import { catalogKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import {
  type EvaluationStore,
  KEPT_EVALUATIONS,
  newestFirst,
  parseEvaluation,
  type StoredEvaluation,
} from './evaluation-store.ts';

/** Prefixes of the JSON of an evaluation that has ended, and of one that has not. */
const ENDED = 'e';
const OPEN = 'o';

/**
 * KEYS evaluations (hash), those that ended (sorted set). ARGV id, value, time of creation, how many are kept. Answers 0,
 * with nothing written, when this one has ended.
 */
const SAVE = new Script(`
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before and string.sub(before, 1, 1) == '${ENDED}' then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if string.sub(ARGV[2], 1, 1) == '${OPEN}' then return 1 end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
local old = redis.call('ZREVRANGE', KEYS[2], ARGV[4], -1)
for _, id in ipairs(old) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
return 1
`);

/** Keeps evaluations in Redis, in one hash per catalog that all routers share. */
export class RedisEvaluationStore implements EvaluationStore {
  readonly #connections: RedisConnections;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  async save(stored: StoredEvaluation): Promise<boolean> {
    const { catalog, id, createdAt, endedAt } = stored.evaluation;
    const value = `${endedAt === null ? OPEN : ENDED}${JSON.stringify(stored)}`;
    const args = [id, value, Date.parse(createdAt), KEPT_EVALUATIONS];
    return (await SAVE.run(this.#connections.commands, keysOf(catalog), args)) === 1;
  }

  async get(catalog: string, id: string): Promise<StoredEvaluation | null> {
    const [evaluations] = keysOf(catalog);
    const value = await this.#connections.commands.hget(evaluations, id);
    return value === null ? null : parsed(value);
  }

  async list(catalog: string): Promise<readonly StoredEvaluation[]> {
    const [evaluations] = keysOf(catalog);
    return newestFirst((await this.#connections.commands.hvals(evaluations)).map(parsed));
  }

  async remove(catalog: string): Promise<void> {
    await this.#connections.commands.del(...keysOf(catalog));
  }
}

function keysOf(catalog: string): [evaluations: string, ended: string] {
  return [catalogKey(catalog, 'evaluations'), catalogKey(catalog, 'evaluations-ended')];
}

function parsed(value: string): StoredEvaluation {
  return parseEvaluation(value.slice(1));
}
