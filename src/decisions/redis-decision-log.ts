import { GatheredCommands } from '../redis/gathered-commands.ts';
import { catalogKey } from '../redis/keys.ts';
import { membersByScore } from '../redis/members-by-score.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { Script } from '../redis/script.ts';
import type { Decision } from './decision.ts';
import { decodeDecision, encodeDecision } from './decision-codec.ts';
import { type DecisionHead, headOf } from './decision-head.ts';
import { type DecisionLog, DecisionLogUnavailableError } from './decision-log.ts';

export interface RedisDecisionLogOptions {
  /** Decisions expire this long after they were made; ms. */
  readonly retainMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * KEYS decision, order. ARGV bytes, ms to live, id, made at, forget what was made before, head, ms that all live, when it
 * was activated while it waited here or ''. The first decision of an id stays.
 */
const APPEND = new Script(`
if ARGV[8] ~= '' then redis.call('HSETNX', KEYS[1], 'a', ARGV[8]) end
if redis.call('HSETNX', KEYS[1], 'd', ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'h', ARGV[6])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
return 1
`);
/** KEYS decision. ARGV activated at. Answers 0 when there is no such decision. */
const ACTIVATE = new Script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSETNX', KEYS[1], 'a', ARGV[1])
return 1
`);

/** Decisions that are kept here while Redis is away; more of them and routing answers 503. */
const MOST_WAITING = 10_000;
const RETRY_MS = 250;
/**
 * A Redis that takes the place of a broken one may lack its last moments. What was written so long before the last
 * decision, and no more than so many, is written once more when the connection is back.
 */
const RECENT_MS = 10_000;
const MOST_RECENT = 5_000;
const FLUSH_BATCH = 64;
const READ_BATCH = 200;

/**
 * The decisions of one catalog in Redis: a hash each, which expires, and their order. While Redis is away they
 * wait in memory, and are written when it is back; until then only this process can explain them. The same while another
 * Redis is in its place.
 */
export class RedisDecisionLog implements DecisionLog {
  readonly isShared = true;
  readonly #client: RedisClient;
  readonly #epoch: RedisEpoch;
  readonly #catalog: string;
  readonly #options: RedisDecisionLogOptions;
  readonly #order: string;
  readonly #commands: GatheredCommands;
  readonly #waiting = new Map<string, Decision>();
  /** What was written last, the oldest first. */
  readonly #recent = new Map<string, { readonly decision: Decision; readonly writtenAt: number }>();
  #flushing: Promise<void> | null = null;
  #closed = false;

  constructor({ commands, epoch }: RedisConnections, catalog: string, options: RedisDecisionLogOptions) {
    this.#client = commands;
    this.#epoch = epoch;
    this.#catalog = catalog;
    this.#options = options;
    this.#order = catalogKey(catalog, 'decisions');
    this.#commands = new GatheredCommands(commands);
  }

  async append(decision: Decision): Promise<void> {
    if (this.#closed) throw new DecisionLogUnavailableError('The decision log is closed.');
    // While others wait Redis is away, or was a moment ago: nobody has to find that out again for each decision.
    if (this.#waiting.size > 0 && this.#waiting.size < MOST_WAITING) return this.#keep(decision);
    try {
      await this.#write(decision);
    } catch (error) {
      if (!isAway(error) || this.#waiting.size >= MOST_WAITING) throw unavailable(error);
      this.#keep(decision);
    }
  }

  async get(id: string): Promise<Decision | null> {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) return waiting;
    const [bytes, activated] = await this.#available(() =>
      this.#commands.hmgetBuffer(this.#key(id), 'd', 'a'),
    );
    if (bytes === null) return this.#notHere();
    return activatedAs(decodeDecision(bytes), activated);
  }

  async head(id: string): Promise<DecisionHead | null> {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      await this.#available(() => this.#writeWaiting(waiting));
      return headOf(waiting);
    }
    const [bytes, activated] = await this.#available(() =>
      this.#commands.hmgetBuffer(this.#key(id), 'h', 'a'),
    );
    if (bytes === null) return this.#notHere();
    return activatedAs(JSON.parse(bytes.toString()) as DecisionHead, activated);
  }

  async activate(id: string, at: number): Promise<boolean> {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      this.#waiting.set(id, { ...waiting, activatedAt: waiting.activatedAt ?? at });
      return true;
    }
    const recent = this.#recent.get(id);
    if (recent !== undefined && recent.decision.activatedAt === null) {
      this.#recent.set(id, { ...recent, decision: { ...recent.decision, activatedAt: at } });
    }
    const isThere = await this.#available(() => ACTIVATE.run(this.#commands, [this.#key(id)], [at]));
    return isThere === 1 || (await this.#notHere()) !== null;
  }

  async countSince(hour: number): Promise<number> {
    return (await this.#available(() => this.#client.zcount(this.#order, hour, '+inf'))) + this.#waiting.size;
  }

  async *read(): AsyncIterable<Decision> {
    const oldest = this.#options.now() - this.#options.retainMs;
    const pages = membersByScore(this.#client, this.#order, oldest, READ_BATCH);
    for (;;) {
      const page = await this.#available(() => pages.next());
      // What a Redis that was emptied meanwhile does not hold is not missing.
      if (page.done) return void (await this.#notHere());
      const decisions = await Promise.all(page.value.map((id) => this.get(id)));
      for (const decision of decisions) if (decision !== null) yield decision;
    }
  }

  /** Waits for what can still be written; what cannot is lost with this process. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #write(decision: Decision): Promise<void> {
    if (this.#epoch.isDoubtful) await this.#epoch.verify();
    const { now, retainMs } = this.#options;
    const bytes = Buffer.from(encodeDecision(decision));
    // As a duration: the clock of Redis need not agree with ours.
    const livesMs = Math.max(1, Math.round(decision.at + retainMs - now()));
    const head = JSON.stringify(headOf(decision));
    const activated = decision.activation === 'later' ? (decision.activatedAt ?? '') : '';
    const args = [bytes, livesMs, decision.id, decision.at, now() - retainMs, head, retainMs, activated];
    await APPEND.run(this.#commands, [this.#key(decision.id), this.#order], args);
    this.#recent.set(decision.id, { decision, writtenAt: now() });
    this.#forgetOld();
  }

  /** The connection was lost and is back: what Redis has forgotten of the last moments is written again. */
  writeAgain(): void {
    if (!this.#closed) for (const { decision } of this.#recent.values()) this.#keep(decision);
  }

  /** As others are written: while Redis is away nothing grows old. */
  #forgetOld(): void {
    const oldest = this.#options.now() - RECENT_MS;
    for (const [id, { writtenAt }] of this.#recent) {
      if (this.#recent.size <= MOST_RECENT && writtenAt >= oldest) break;
      this.#recent.delete(id);
    }
  }

  #keep(decision: Decision): void {
    this.#waiting.set(decision.id, decision);
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting.values()].slice(0, FLUSH_BATCH);
      try {
        await Promise.all(some.map((decision) => this.#writeWaiting(decision)));
      } catch {
        if (this.#closed) break;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#flushing = null;
  }

  async #writeWaiting(decision: Decision): Promise<void> {
    await this.#write(decision);
    // Activated in the meantime: that goes with it.
    if (this.#waiting.get(decision.id) === decision) this.#waiting.delete(decision.id);
  }

  /** @throws DecisionLogUnavailableError when this is not the Redis in which it would be */
  async #notHere(): Promise<null> {
    await this.#available(() => this.#epoch.verify());
    return null;
  }

  #key(id: string): string {
    return catalogKey(this.#catalog, `decision:${id}`);
  }

  async #available<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Later activations are kept beside what was written first. */
function activatedAs<Known extends DecisionHead | Decision>(known: Known, activated: Buffer | null): Known {
  if (known.activatedAt !== null || activated === null) return known;
  return { ...known, activatedAt: Number(activated.toString()) };
}

/** Redis does not answer; as opposed to one that answers with a refusal (out of memory, say). */
function isAway(error: unknown): boolean {
  return (
    !(error instanceof Error && error.name === 'ReplyError') ||
    /^(LOADING|READONLY|CLUSTERDOWN)/.test(error.message)
  );
}

function unavailable(error: unknown): DecisionLogUnavailableError {
  return new DecisionLogUnavailableError(`Decisions cannot be kept in Redis: ${(error as Error).message}`, {
    cause: error,
  });
}
