import { randomUUID } from 'node:crypto';
import { catalogKey } from '../../redis/keys.ts';
import type { RedisConnections } from '../../redis/redis-connection.ts';
import { available } from '../../redis/redis-failures.ts';
import { Script } from '../../redis/script.ts';
import {
  type ContextModelStore,
  isUnderWay,
  parseTraining,
  type StoredTraining,
} from './context-model-store.ts';

const WHAT = 'Models of context';

/**
 * KEYS model (hash). ARGV id, training, 1 if it has not ended, 1 to begin. Answers 1, or what is kept: it is under way (to begin), or it is another
 * one or has ended (else).
 */
const SAVE = new Script(`
local id = redis.call('HGET', KEYS[1], 'under-way') or ''
if ARGV[4] == '1' then
  if id ~= '' then return redis.call('HGET', KEYS[1], 'training') end
elseif id ~= ARGV[1] then return redis.call('HGET', KEYS[1], 'training') or '' end
redis.call('HSET', KEYS[1], 'training', ARGV[2])
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'under-way', ARGV[1]) else redis.call('HDEL', KEYS[1], 'under-way') end
return 1
`);

/** KEYS as above. ARGV version, model (empty: none). Answers whether there was one. */
const PUT = new Script(`
local there = redis.call('HEXISTS', KEYS[1], 'version')
if ARGV[2] == '' then redis.call('HDEL', KEYS[1], 'version', 'model')
else redis.call('HSET', KEYS[1], 'version', ARGV[1], 'model', ARGV[2]) end
return there
`);

/** Models in Redis, in one hash per catalog that all routers share. */
export class RedisContextModelStore implements ContextModelStore {
  readonly #connections: RedisConnections;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  async begin(stored: StoredTraining): Promise<StoredTraining> {
    const kept = await this.#save(stored, true);
    return kept === null ? stored : parseTraining(kept);
  }

  async save(stored: StoredTraining): Promise<boolean> {
    return (await this.#save(stored, false)) === null;
  }

  async training(catalog: string): Promise<StoredTraining | null> {
    const text = await available(WHAT, () => this.#commands.hget(keyOf(catalog), 'training'));
    return text === null ? null : parseTraining(text);
  }

  modelVersion(catalog: string): Promise<string | null> {
    return available(WHAT, () => this.#commands.hget(keyOf(catalog), 'version'));
  }

  model(catalog: string): Promise<Buffer | null> {
    return available(WHAT, () => this.#commands.hgetBuffer(keyOf(catalog), 'model'));
  }

  async putModel(catalog: string, model: Uint8Array | null): Promise<boolean> {
    const bytes = model === null ? '' : Buffer.from(model);
    const args = [randomUUID(), bytes];
    return (await available(WHAT, () => PUT.run(this.#commands, [keyOf(catalog)], args))) === 1;
  }

  async remove(catalog: string): Promise<void> {
    await available(WHAT, () => this.#commands.del(keyOf(catalog)));
  }

  /** Returns what is kept in its place; null: this is. */
  async #save(stored: StoredTraining, begins: boolean): Promise<string | null> {
    const { id, catalog } = stored.training;
    const args = [id, JSON.stringify(stored), isUnderWay(stored) ? 1 : 0, begins ? 1 : 0];
    const kept = await available(WHAT, () => SAVE.run(this.#commands, [keyOf(catalog)], args));
    return kept === 1 ? null : String(kept);
  }

  get #commands() {
    return this.#connections.commands;
  }
}

const keyOf = (catalog: string): string => catalogKey(catalog, 'context-model');
