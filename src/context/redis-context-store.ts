import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { CONTEXT_SERVICE_KEY, catalogKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import { answered, available } from '../redis/redis-failures.ts';
import { Script } from '../redis/script.ts';
import {
  allUsers,
  BeingErasedError,
  type ContextStore,
  type SealedChange,
  type SealedExamples,
  type SealedUser,
  type UserPage,
  type UserPlace,
} from './context-store.ts';

/** Another process changed the same user each time: it would have to do so without a pause. */
const MAX_ATTEMPTS = 32;
const USERS_AT_ONCE = 500;
const WHAT = 'What users have';

/** KEYS keys, user, erasing. ARGV user, known stamp. Answers nothing, 1 for the same stamp, or stamp, key, items, signals. */
const READ = new Script(`
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return false end
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return false end
local found = redis.call('HMGET', KEYS[2], 'stamp', 'items', 'signals')
if found[1] == ARGV[2] then return 1 end
return {found[1] or '', key, found[2] or '', found[3] or ''}
`);

/**
 * KEYS as above. ARGV user, expected stamp (empty: nothing is kept), new stamp, key, items, signals, examples (empty: as it is).
 * Answers 1; 0: something else is kept; -1: the user is being erased.
 */
const WRITE = new Script(`
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return -1 end
local stamp = ''
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then stamp = redis.call('HGET', KEYS[2], 'stamp') or '' end
if stamp ~= ARGV[2] then return 0 end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[4]) end
redis.call('HSET', KEYS[2], 'stamp', ARGV[3])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[2], 'items', ARGV[5]) end
if ARGV[6] ~= '' then redis.call('HSET', KEYS[2], 'signals', ARGV[6]) end
if ARGV[7] ~= '' then redis.call('HSET', KEYS[2], 'examples', ARGV[7]) end
return 1
`);

/** KEYS as above. ARGV user. Answers nothing, or key and examples. */
const EXAMPLES = new Script(`
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return false end
local key = redis.call('HGET', KEYS[1], ARGV[1])
local examples = redis.call('HGET', KEYS[2], 'examples')
if not key or not examples then return false end
return {key, examples}
`);

/** KEYS as above. ARGV user, 1 to keep the mark. */
const FINISH = new Script(`
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 0 then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
if ARGV[2] ~= '1' then redis.call('HDEL', KEYS[3], ARGV[1]) end
return 1
`);

const EMPTY = Buffer.alloc(0);

/**
 * What users have, in Redis, shared by all routers. Of each catalog a hash with the keys of its users and one with the
 * erasures that have begun, and for each user a hash with what the key encrypted.
 */
export class RedisContextStore implements ContextStore {
  /** The service's key lies in it encrypted by the operator's secret: who reads Redis reads the keys as well. */
  readonly isPrivate = false;
  /** What another router puts first for a user is seen this late by a router that has just looked for it. */
  readonly absenceMs = 2_000;
  readonly #connections: RedisConnections;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  readServiceKey(): Promise<Buffer | null> {
    return available(WHAT, () => this.#commands.getBuffer(CONTEXT_SERVICE_KEY));
  }

  async createServiceKey(record: Buffer): Promise<Buffer> {
    await available(WHAT, () => this.#commands.set(CONTEXT_SERVICE_KEY, record, 'NX'));
    return (await this.readServiceKey()) ?? record;
  }

  async replaceServiceKey(record: Buffer): Promise<void> {
    await available(WHAT, () => this.#commands.set(CONTEXT_SERVICE_KEY, record));
  }

  async read(place: UserPlace, known = ''): Promise<SealedUser | 'same' | null> {
    const found = await available(WHAT, () =>
      READ.runForBytes(this.#commands, keysOf(place), [place.user, known]),
    );
    if (found === null) return null;
    if (found === 1) return 'same';
    const [stamp, key, items, signals] = found as Buffer[];
    const part = (bytes: Buffer): Buffer | null => (bytes.length === 0 ? null : bytes);
    return { stamp: stamp.toString(), key, items: part(items), signals: part(signals) };
  }

  async change(
    place: UserPlace,
    update: (current: SealedUser | null) => Promise<SealedChange | null>,
  ): Promise<string | null> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = (await this.read(place)) as SealedUser | null;
      const change = await update(current);
      if (change === null) return current?.stamp ?? null;
      if (current === null && change.key === undefined) throw new Error('A new user needs a key.');
      const stamp = randomUUID();
      const { key = EMPTY, items = EMPTY, signals = EMPTY, examples = EMPTY } = change;
      const args = [place.user, current?.stamp ?? '', stamp, key, items, signals, examples];
      const done = await available(WHAT, () =>
        answered(() => WRITE.run(this.#commands, keysOf(place), args)),
      );
      if (done === 1) return stamp;
      if (done === -1) throw new BeingErasedError();
    }
    throw new StoreUnavailableError('Other processes kept changing what is kept about this user.');
  }

  async examples(place: UserPlace): Promise<SealedExamples | null> {
    const found = await available(WHAT, () =>
      EXAMPLES.runForBytes(this.#commands, keysOf(place), [place.user]),
    );
    if (found === null) return null;
    const [key, examples] = found as Buffer[];
    return { key, examples };
  }

  async beginErasure({ catalog, user }: UserPlace, note: string): Promise<void> {
    await available(WHAT, () => this.#commands.hset(erasingKey(catalog), user, note));
  }

  async finishErasure(place: UserPlace, keepMark = false): Promise<void> {
    const args = [place.user, keepMark ? '1' : ''];
    await available(WHAT, () => FINISH.run(this.#commands, keysOf(place), args));
  }

  unfinishedErasures(catalog: string): Promise<readonly string[]> {
    return available(WHAT, () => this.#commands.hkeys(erasingKey(catalog)));
  }

  erasureNote({ catalog, user }: UserPlace): Promise<string | null> {
    return available(WHAT, () => this.#commands.hget(erasingKey(catalog), user));
  }

  async someUsers(catalog: string, cursor: string | null, most: number): Promise<UserPage> {
    const [next, found] = await available(WHAT, () =>
      this.#commands.hscan(keysKey(catalog), cursor ?? '0', 'COUNT', most),
    );
    return { users: found.filter((_, at) => at % 2 === 0), next: next === '0' ? null : next };
  }

  readSweep(catalog: string): Promise<Buffer | null> {
    return available(WHAT, () => this.#commands.getBuffer(sweepKey(catalog)));
  }

  async writeSweep(catalog: string, progress: Buffer): Promise<void> {
    await available(WHAT, () => this.#commands.set(sweepKey(catalog), progress));
  }

  async removeUnfinished(): Promise<void> {
    // Scripts write whole changes.
  }

  async remove(catalog: string): Promise<void> {
    let some: string[] = [];
    const removeSome = async (): Promise<void> => {
      if (some.length === 0) return;
      // The hash of keys says where the rest lies, so that it goes last.
      await available(WHAT, () => this.#commands.del(...some.map((user) => userKey({ catalog, user }))));
      await available(WHAT, () => this.#commands.hdel(keysKey(catalog), ...some));
      some = [];
    };
    for await (const user of allUsers(this, catalog)) {
      some.push(user);
      if (some.length >= USERS_AT_ONCE) await removeSome();
    }
    await removeSome();
    await available(WHAT, () => this.#commands.del(erasingKey(catalog), sweepKey(catalog)));
  }

  get #commands() {
    return this.#connections.commands;
  }
}

const keysKey = (catalog: string): string => catalogKey(catalog, 'context-keys');
const erasingKey = (catalog: string): string => catalogKey(catalog, 'context-erasing');
const sweepKey = (catalog: string): string => catalogKey(catalog, 'context-sweep');
const userKey = ({ catalog, user }: UserPlace): string => catalogKey(catalog, `context:${user}`);
const keysOf = (place: UserPlace): string[] => [
  keysKey(place.catalog),
  userKey(place),
  erasingKey(place.catalog),
];
