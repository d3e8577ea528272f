import { StoreUnavailableError } from '../errors/store-errors.ts';
import { taskIdKey } from '../ledger/unit.ts';
import { catalogKey } from '../redis/keys.ts';
import { membersByScore, type ScoreOrder } from '../redis/members-by-score.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { available, unavailable } from '../redis/redis-failures.ts';
import { GatheredCalls, Script, type ScriptArgument } from '../redis/script.ts';
import { type Decision, type DecisionHead, type Discovery, shownAt, withDiscoveries } from './decision.ts';
import { activationOf, type BufferedDecision, bufferedDecision, DecisionBuffer } from './decision-buffer.ts';
import { decodeDecision } from './decision-codec.ts';
import {
  type Activation,
  type DecisionLog,
  type DiscoveryAppended,
  type LoggedDecision,
  TASK_DECISIONS,
} from './decision-log.ts';

export interface RedisDecisionLogOptions {
  /** Decisions expire this long after they were made; ms. */
  readonly retainMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Lets the tasks of a decision find it by when the last of it was shown. */
const SHOW = `
local function show(key, id, at, lives)
  for task in string.gmatch(redis.call('HGET', key, 't') or '', '%S+') do
    redis.call('ZADD', task, 'GT', at, id)
    redis.call('ZREMRANGEBYRANK', task, 0, ${-1 - TASK_DECISIONS})
    redis.call('PEXPIRE', task, lives)
  end
end
`;
/**
 * KEYS order, decisions. ARGV forget what was made before, ms that all live; then for each decision: bytes, ms to live, id, made
 * at, head, when it was activated before it came here or '', when it was activated while it waited here or '', keys of the tasks
 * that find it or '', its discoveries or '', when the last of it was shown or '', also where no task finds it. The first decision of an id stays. Answers for each: 1 when it is the first, 2 when the first is just like it, 0 when it is another.
 */
const APPEND = new Script(`${SHOW}
local answers = {}
for i = 2, #KEYS do
  local key, at = KEYS[i], 10 * i - 17
  local first = redis.call('HSETNX', key, 'd', ARGV[at])
  if first == 1 then
    redis.call('HSET', key, 'h', ARGV[at + 4])
    if ARGV[at + 5] ~= '' then redis.call('HSET', key, 'a', ARGV[at + 5]) end
    redis.call('PEXPIRE', key, ARGV[at + 1])
    redis.call('ZADD', KEYS[1], ARGV[at + 3], ARGV[at + 2])
    if ARGV[at + 7] ~= '' then redis.call('HSET', key, 't', ARGV[at + 7]) end
    if ARGV[at + 8] ~= '' then redis.call('HSET', key, 'x', ARGV[at + 8]) end
  elseif redis.call('HGET', key, 'd') == ARGV[at] then
    first = 2
  end
  if ARGV[at + 6] ~= '' then redis.call('HSETNX', key, 'a', ARGV[at + 6]) end
  if ARGV[at + 9] ~= '' and redis.call('HEXISTS', key, 'a') == 1 then
    show(key, ARGV[at + 2], ARGV[at + 9], ARGV[2])
  end
  answers[i - 1] = first
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return answers
`);
/** KEYS decisions. ARGV a field of each. Answers for each the field, when it was activated, and its discoveries. */
const READ = new Script(`
local answers = {}
for i, key in ipairs(KEYS) do answers[i] = redis.call('HMGET', key, ARGV[i], 'a', 'x') end
return answers
`);
/** KEYS decision. ARGV activated at, its id, ms that its tasks live. Answers whether this is the first time, and nothing when there is no such decision. */
const ACTIVATE = new Script(`${SHOW}
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local first = redis.call('HSETNX', KEYS[1], 'a', ARGV[1])
if first == 1 then show(KEYS[1], ARGV[2], ARGV[1], ARGV[3]) end
return first
`);

/** KEYS decision. ARGV its discoveries before, or '', and after, when the last was made, its id, ms that its tasks live. Answers 1; 0 where there are others; nothing when there is no such decision. */
const DISCOVER = new Script(`${SHOW}
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
if (redis.call('HGET', KEYS[1], 'x') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'x', ARGV[2])
if redis.call('HEXISTS', KEYS[1], 'a') == 1 then show(KEYS[1], ARGV[4], ARGV[3], ARGV[5]) end
return 1
`);

interface DecisionWrite {
  readonly id: string;
  /** As the script wants them. */
  readonly args: readonly ScriptArgument[];
}

interface DecisionRead {
  readonly id: string;
  /** The whole decision, or its head. */
  readonly field: 'd' | 'h';
}

type DecisionFields = readonly [bytes: Buffer | null, activated: Buffer | null, discoveries: Buffer | null];

/** The subject of messages. */
const WHAT = 'The decision log';
const READ_BATCH = 200;
/** Whole decisions that are in memory at a time while the log is read backwards. */
const BACK_BATCH = 64;

/**
 * The decisions of one catalog in Redis: one hash per decision, which expires, and a sorted set of their ids. A decision
 * of this process passes through these states:
 *
 * - *waiting*: Redis is away, or not the one that is known, so the decision waits in the `DecisionBuffer`, with at most
 *   ten thousand others. Only this process can explain and activate it.
 * - *written*: durable in Redis. For 10 s the buffer keeps it too, and writes it again when a connection was lost.
 * - *expired*: Redis has deleted it.
 *
 * The log itself is *open*; *closed*, which refuses decisions and waits for those that can still be written; or
 * *dropped*, because its catalog was deleted, which writes nothing any more.
 */
export class RedisDecisionLog implements DecisionLog {
  readonly #client: RedisClient;
  readonly #epoch: RedisEpoch;
  readonly #catalog: string;
  readonly #options: RedisDecisionLogOptions;
  readonly #order: string;
  readonly #writes: GatheredCalls<DecisionWrite, number>;
  readonly #reads: GatheredCalls<DecisionRead, DecisionFields>;
  readonly #buffer: DecisionBuffer;
  #closed = false;
  #dropped = false;

  constructor({ commands, epoch }: RedisConnections, catalog: string, options: RedisDecisionLogOptions) {
    this.#client = commands;
    this.#epoch = epoch;
    this.#catalog = catalog;
    this.#options = options;
    this.#order = catalogKey(catalog, 'decisions');
    this.#writes = new GatheredCalls((writes) => this.#append(writes));
    this.#reads = new GatheredCalls((reads) => this.#readAll(reads));
    this.#buffer = new DecisionBuffer(async (buffered) => void (await this.#write(buffered)), options.now);
  }

  async append(decision: Decision): Promise<boolean> {
    if (this.#closed) throw closed();
    if (this.#buffer.waiting(decision.id) !== undefined) return false;
    const buffered = bufferedDecision(decision);
    // While others wait, Redis is away or was a moment ago: this one would only wait for the timeout again.
    if (this.#buffer.size > 0 && !this.#buffer.isFull) return this.#buffer.add(buffered);
    try {
      return (await this.#write(buffered)) === 'first';
    } catch (error) {
      if (!isAway(error) || this.#buffer.isFull) throw unavailable(WHAT, error);
      if (this.#closed) throw closed();
      return this.#buffer.add(buffered);
    }
  }

  async get(id: string): Promise<Decision | null> {
    const [decision] = await this.useAll([id], (found) => found);
    return decision;
  }

  async useAll<Used>(
    ids: readonly string[],
    use: (decision: Decision | null, index: number) => Used,
  ): Promise<Used[]> {
    const found = await this.#available(() =>
      Promise.all(ids.map((id) => this.#buffer.waiting(id) ?? this.#reads.ask({ id, field: 'd' }))),
    );
    if (found.some((one) => !('bytes' in one) && one[0] === null)) await this.#notHere();
    return found.map((one, index) => {
      if ('bytes' in one) return use({ ...decodeDecision(one.bytes), activatedAt: activationOf(one) }, index);
      const [bytes, activated, discoveries] = one;
      if (bytes === null) return use(null, index);
      const decision = activatedAs(decodeDecision(bytes), activated);
      return use(withDiscoveries(decision, discoveriesIn(discoveries)), index);
    });
  }

  async head(id: string): Promise<DecisionHead | null> {
    const waiting = this.#buffer.waiting(id);
    // Then read what Redis holds: another router may have written first.
    if (waiting !== undefined) await this.#available(() => this.#buffer.writeWaiting(waiting));
    const [bytes, activated, found] = await this.#available(() => this.#reads.ask({ id, field: 'h' }));
    if (bytes === null) return this.#notHere();
    const head = activatedAs(JSON.parse(bytes.toString()) as DecisionHead, activated);
    const discovered = discoveriesIn(found).flatMap(({ tools }) => tools);
    return discovered.length === 0 ? head : { ...head, shown: [...head.shown, ...discovered] };
  }

  async discover(id: string, discovery: Discovery, after: number): Promise<DiscoveryAppended> {
    const waiting = this.#buffer.waiting(id);
    if (waiting !== undefined) await this.#available(() => this.#buffer.writeWaiting(waiting));
    const [bytes, , found] = await this.#available(() => this.#reads.ask({ id, field: 'h' }));
    if (bytes === null) {
      await this.#notHere();
      return 'unknown';
    }
    const before = discoveriesIn(found);
    if (before.length !== after) return 'moved';
    const [old, all] = [found?.toString() ?? '', JSON.stringify([...before, discovery])];
    const args = [old, all, discovery.at, id, this.#options.retainMs];
    const added = await this.#available(() => DISCOVER.run(this.#client, [this.#key(id)], args));
    if (added === null) return 'unknown';
    if (added === 0) return 'moved';
    const recent = this.#buffer.recent(id);
    if (recent !== undefined) recent.discoveries = all;
    return 'added';
  }

  async activate(id: string, at: number): Promise<Activation> {
    const waiting = this.#buffer.waiting(id);
    if (waiting !== undefined) {
      if (activationOf(waiting) !== null) return 'again';
      waiting.activatedAt = at;
      return 'first';
    }
    const args = [at, id, this.#options.retainMs];
    const isFirst = await this.#available(() => ACTIVATE.run(this.#client, [this.#key(id)], args));
    if (isFirst === null) {
      await this.#notHere();
      return 'unknown';
    }
    // Not before: an activation that was refused must not be written later all the same.
    const recent = this.#buffer.recent(id);
    if (recent !== undefined && activationOf(recent) === null) recent.activatedAt = at;
    return isFirst === 1 ? 'first' : 'again';
  }

  async ofTask(key: string, limit = TASK_DECISIONS): Promise<DecisionHead[]> {
    for (const buffered of this.#buffer.ofTask(key)) {
      await this.#available(() => this.#buffer.writeWaiting(buffered));
    }
    const ids = await this.#available(() =>
      this.#client.zrange(this.#taskKey(key), '0', `${limit - 1}`, 'REV'),
    );
    if (ids.length === 0) await this.#notHere();
    const heads = await Promise.all(ids.map((id) => this.head(id)));
    return heads.filter((head) => head !== null);
  }

  async countSince(hour: number): Promise<number> {
    return (await this.#available(() => this.#client.zcount(this.#order, hour, '+inf'))) + this.#buffer.size;
  }

  async *read(): AsyncIterable<Decision> {
    for await (const { decision } of this.#inOrder({ page: READ_BATCH })) yield decision;
  }

  newestFirst(cursor?: string): AsyncIterable<LoggedDecision> | null {
    const backwards = { descending: true, page: BACK_BATCH };
    if (cursor === undefined) return this.#inOrder(backwards);
    const [, score, member] = /^(\d{1,15})\/(.+)$/.exec(cursor) ?? [];
    return member === undefined ? null : this.#inOrder({ ...backwards, after: { member, score } });
  }

  async *#inOrder(order: Omit<ScoreOrder, 'least'>): AsyncGenerator<LoggedDecision> {
    const least = this.#options.now() - this.#options.retainMs;
    const pages = membersByScore(this.#client, this.#order, { ...order, least });
    for (;;) {
      const page = await this.#available(() => pages.next());
      // What a Redis that was emptied meanwhile does not hold is not missing.
      if (page.done) return void (await this.#notHere());
      const decisions = await Promise.all(page.value.map(({ member }) => this.get(member)));
      for (const [i, decision] of decisions.entries()) {
        const { member, score } = page.value[i];
        if (decision !== null) yield { decision, cursor: `${score}/${member}` };
      }
    }
  }

  /** Waits for what can still be written; what cannot is lost with this process. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#buffer.close();
  }

  /** The catalog is deleted: what waits is written nowhere. */
  drop(): void {
    this.#closed = true;
    this.#dropped = true;
    this.#buffer.drop();
  }

  /** Call when the connection is back: writes again what Redis may have lost of the last moments. */
  writeAgain(): void {
    if (!this.#closed) this.#buffer.repeat();
  }

  /** Forgets what was written more than 10 s ago, if Redis answers; while it is away nothing is forgotten. */
  async forgetOld(): Promise<void> {
    if (!this.#buffer.hasRecent) return;
    await this.#epoch.verify();
    this.#buffer.forgetOld();
  }

  async #write(buffered: BufferedDecision): Promise<'first' | 'same' | 'other'> {
    if (this.#epoch.isDoubtful) await this.#epoch.verify();
    if (this.#dropped) throw closed();
    const { id, at, task, thread, bytes, head, wasActivatedAt, activatedAt, discoveries } = buffered;
    const { now, retainMs } = this.#options;
    // As a duration: the clock of Redis need not agree with ours.
    const livesMs = Math.max(1, Math.round(at + retainMs - now()));
    const tasks = new Set(task === undefined ? [] : [task, taskIdKey(task)]);
    if (thread !== undefined) tasks.add(thread);
    const taskKeys = [...tasks].map((key) => this.#taskKey(key)).join(' ');
    const found = discoveries === '' ? [] : (JSON.parse(discoveries) as Discovery[]);
    const activation = activationOf(buffered);
    const isFound = activation !== null && taskKeys !== '';
    const shown = isFound ? shownAt({ at, activatedAt: activation, discoveries: found }) : '';
    const activations = [wasActivatedAt ?? '', activatedAt ?? ''];
    const args = [bytes, livesMs, id, at, head, ...activations, taskKeys, discoveries, shown];
    const first = await this.#writes.ask({ id, args });
    // The first one of an id is what has to be written again, should Redis lose it.
    if (first === 0) return 'other';
    this.#buffer.written(buffered);
    return first === 1 ? 'first' : 'same';
  }

  #append(writes: readonly DecisionWrite[]): Promise<number[]> {
    const { now, retainMs } = this.#options;
    const keys = [this.#order, ...writes.map(({ id }) => this.#key(id))];
    const args = [now() - retainMs, retainMs, ...writes.flatMap((write) => write.args)];
    return APPEND.run(this.#client, keys, args) as Promise<number[]>;
  }

  #readAll(reads: readonly DecisionRead[]): Promise<DecisionFields[]> {
    const keys = reads.map(({ id }) => this.#key(id));
    const fields = reads.map(({ field }) => field);
    return READ.runForBytes(this.#client, keys, fields) as Promise<DecisionFields[]>;
  }

  /** @throws StoreUnavailableError when this is not the Redis in which it would be */
  async #notHere(): Promise<null> {
    await this.#available(() => this.#epoch.verify());
    return null;
  }

  #key(id: string): string {
    return catalogKey(this.#catalog, `decision:${id}`);
  }

  /** Of a sorted set of decisions by the time when the last of each was shown. */
  #taskKey(key: string): string {
    return catalogKey(this.#catalog, `task:${key}`);
  }

  #available<T>(command: () => Promise<T>): Promise<T> {
    return available(WHAT, command);
  }
}

/** Later activations are kept beside what was written first. */
function activatedAs<Known extends DecisionHead | Decision>(known: Known, activated: Buffer | null): Known {
  if (known.activatedAt !== null || activated === null) return known;
  return { ...known, activatedAt: Number(activated.toString()) };
}

function discoveriesIn(bytes: Buffer | null): readonly Discovery[] {
  return bytes === null ? [] : (JSON.parse(bytes.toString()) as Discovery[]);
}

/** Redis does not answer; as opposed to one that answers with a refusal (out of memory, say). */
function isAway(error: unknown): boolean {
  return (
    !(error instanceof Error && error.name === 'ReplyError') ||
    /^(LOADING|READONLY|CLUSTERDOWN)/.test(error.message)
  );
}

function closed(): StoreUnavailableError {
  return new StoreUnavailableError('The decision log is closed.');
}
