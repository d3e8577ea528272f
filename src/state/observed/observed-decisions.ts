import type { RewardContract } from '../../ledger/catalog-settings.ts';
import type { ObservedDecision } from '../../ledger/entry.ts';
import { ByteWriter } from '../../storage/byte-writer.ts';
import type { RewardOutcome } from '../fold-result.ts';
import { ByteQueue } from './byte-queue.ts';
import { awaitsDeadline, namesOf, packRecord, unpackRecord, windowOf } from './observed-codec.ts';
import type { ObservedRecord } from './observed-record.ts';
import { decisionIdLength, Names, writeDecisionId } from './packed-names.ts';

const HOUR_MS = 60 * 60 * 1000;

/**
 * How long records are kept after their window. A repeated append can come as late as the queue's last retry; where
 * late reports are learned, their decisions stay open for a day.
 */
export const RECORD_GRACE_MS: Record<RewardContract['onLate'], number> = {
  log: HOUR_MS,
  reject: HOUR_MS,
  learn: 24 * HOUR_MS,
};

/** The longest window of a contract. A record that ends later than this from now was made by a clock that was ahead. */
export const LONGEST_WINDOW_MS = 7 * 24 * HOUR_MS;
/** At most so many are dropped at a time: after a pause of hours there may be a million. */
const LOOKED_AT_ONCE = 256;
/** A block of a snapshot is about as long. */
const BLOCK_BYTES = 256 * 1024;

/** Some records as they are written down, with the names that they refer to. */
export interface RecordBlock {
  readonly names: readonly string[];
  readonly lengths: Uint32Array;
  readonly bytes: Uint8Array;
}

/**
 * Keeps the decisions with reports, in order of their first report, until window and grace period are over. There may be
 * millions: each takes some eighty bytes. `get` returns a copy; a change takes effect when
 * it, or a new one, is given to `keep`.
 */
export class ObservedDecisions {
  readonly #catalog: string;
  readonly #writer = new ByteWriter();
  readonly #packed = new ByteQueue();
  /** Of tools and versions. */
  readonly #names = new Names();
  /**
   * The latest deadline of a record that was dropped. The record of a decision with a later deadline was never dropped, even if
   * clocks were wrong, so its reports cannot have been applied before.
   */
  droppedThrough = 0;

  constructor(catalog: string) {
    this.#catalog = catalog;
  }

  get size(): number {
    return this.#packed.size;
  }

  has(id: string): boolean {
    return this.#find(id) !== undefined;
  }

  get(id: string): ObservedRecord | undefined {
    const bytes = this.#find(id);
    return bytes && unpackRecord(bytes, this.#catalog, this.#names);
  }

  /**
   * Returns a new record of a decision that has none.
   * @param clock of the fold
   */
  begin({ id, deadline, at }: ObservedDecision, clock: number): ObservedRecord {
    return {
      id,
      deadline,
      until: Math.max(deadline, clock + deadline - at),
      closed: false,
      closedWith: 0,
      tools: new Map(),
      rewards: new Map(),
      features: new Map(),
      cases: new Map(),
      outcome: {},
    };
  }

  /** Stores the record of a decision. */
  keep(record: ObservedRecord): void {
    packRecord(this.#writer, record, this.#catalog, this.#names);
    const bytes = this.#writer.take();
    const key = bytes.subarray(0, decisionIdLength(bytes));
    const before = this.#packed.get(key);
    if (before !== undefined) this.#releaseNames(before);
    this.#packed.put(key, bytes);
  }

  /** Yields the decisions that their reports have left open, and that their deadline closes. */
  *unclosed(): Generator<{ readonly id: string; readonly deadline: number }> {
    for (const bytes of this.#packed)
      if (awaitsDeadline(bytes)) yield unpackRecord(bytes, this.#catalog, this.#names);
  }

  /** Returns whether a record of this decision may have been dropped, so that a report could be applied twice. */
  mayBeDropped(decision: Pick<ObservedDecision, 'id' | 'deadline'>): boolean {
    return decision.deadline <= this.droppedThrough && !this.has(decision.id);
  }

  /** Drops records that can no longer change. They are nearly in the order of their ends, so few are read. */
  expire(clock: number, graceMs: number): void {
    for (let looked = Math.min(LOOKED_AT_ONCE, this.size); looked > 0; looked--) {
      const oldest = this.#packed.oldest();
      const { until, deadline } = windowOf(oldest);
      if (until > clock + LONGEST_WINDOW_MS) {
        // It may take years, and must not keep those behind it from being dropped.
        this.#packed.moveOldestToEnd();
        continue;
      }
      if (until + graceMs >= clock) return;
      this.#releaseNames(oldest);
      this.#packed.dropOldest();
      this.droppedThrough = Math.max(this.droppedThrough, deadline);
    }
  }

  /** All records in order, in blocks; the names of a block are numbered in the order in which it needs them. */
  *save(): Generator<RecordBlock> {
    let block = new BlockBuilder();
    for (const bytes of this.#packed) {
      block.add(bytes, this.#names);
      if (block.length < BLOCK_BYTES) continue;
      yield block.build();
      block = new BlockBuilder();
    }
    if (block.length > 0) yield block.build();
  }

  restore({ names, lengths, bytes }: RecordBlock): void {
    const buffer = Buffer.from(bytes);
    /** By the number that a name has in this block. */
    const numbers: (number | undefined)[] = names.map(() => undefined);
    let at = 0;
    for (const length of lengths) {
      const record = buffer.subarray(at, at + length);
      const { start, end } = namesOf(record);
      for (let name = start; name < end; name += 4) {
        const own = record.readUInt32LE(name);
        const known = numbers[own];
        if (known === undefined) numbers[own] = this.#names.retain(names[own]);
        else this.#names.retainNumber(known);
        record.writeUInt32LE(numbers[own]!, name);
      }
      this.#packed.put(record.subarray(0, decisionIdLength(record)), record);
      at += length;
    }
  }

  #find(id: string): Buffer | undefined {
    writeDecisionId(this.#writer, this.#catalog, id);
    return this.#packed.get(this.#writer.take());
  }

  #releaseNames(bytes: Buffer): void {
    const { start, end } = namesOf(bytes);
    for (let name = start; name < end; name += 4) this.#names.release(bytes.readUInt32LE(name));
  }
}

class BlockBuilder {
  readonly #numbers = new Map<number, number>();
  readonly #names: string[] = [];
  readonly #lengths: number[] = [];
  readonly #writer = new ByteWriter();
  length = 0;

  add(record: Buffer, table: Names): void {
    const copy = this.#writer.bytes(record);
    const { start, end } = namesOf(copy);
    for (let name = start; name < end; name += 4) {
      copy.writeUInt32LE(this.#numberOf(copy.readUInt32LE(name), table), name);
    }
    this.#lengths.push(record.length);
    this.length += record.length;
  }

  build(): RecordBlock {
    const bytes = new Uint8Array(this.#writer.take());
    return { names: this.#names, lengths: Uint32Array.from(this.#lengths), bytes };
  }

  #numberOf(number: number, table: Names): number {
    const known = this.#numbers.get(number);
    if (known !== undefined) return known;
    this.#numbers.set(number, this.#names.length);
    return this.#names.push(table.at(number)) - 1;
  }
}

/** More are not remembered at a time; the oldest go first. */
const MOST_REMEMBERED = 10_000;

/** Keeps the results of rewards whose decision has no record. */
export class RefusedRewards {
  readonly #outcomes = new Map<string, RewardOutcome>();

  get(rewardId: string): RewardOutcome | undefined {
    return this.#outcomes.get(rewardId);
  }

  add(outcome: RewardOutcome): void {
    this.#outcomes.set(outcome.rewardId, outcome);
    if (this.#outcomes.size <= MOST_REMEMBERED) return;
    const [oldest] = this.#outcomes.keys();
    this.#outcomes.delete(oldest);
  }

  save(): RewardOutcome[] {
    return [...this.#outcomes.values()];
  }

  restore(outcomes: readonly RewardOutcome[]): void {
    for (const outcome of outcomes) this.#outcomes.set(outcome.rewardId, outcome);
  }
}
