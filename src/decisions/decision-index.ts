import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { writeFileDurably } from '../storage/durable-file.ts';
import { KeyIndex } from '../storage/key-index.ts';
import { packDocument, unpackDocument } from '../storage/packed-document.ts';

/** Tag of a stored index; ledger entries, decisions, snapshots and activations have 1 to 4. */
const INDEX_TAG = 5;

/** Of a stored index; one of another version is made anew. */
const VERSION = 2;
const HOUR_MS = 60 * 60 * 1000;

/** A decision, and when its window closes; ms since the epoch. */
export interface DueDecision {
  readonly id: string;
  readonly deadline: number;
}

/** The index of one segment of a decision log. */
export interface IndexedSegment {
  readonly first: number;
  readonly keys: KeyIndex;
  /** Newest time of a record, ms since the epoch: when this has expired, everything has. */
  newestAt: number;
  /** Decisions by the hour in which they were made, in hours since the epoch. */
  readonly hours: Map<number, number>;
  /** Decisions with a default reward that were shown, in the order of their records. */
  due: DueDecision[];
}

/** What the index has to know about a record. */
export interface IndexedRecord {
  readonly id: string;
  readonly at: number;
  /** A decision, as opposed to an activation. */
  readonly isDecision: boolean;
  /** When a decision with a default reward, which was shown, has to be settled; ms since the epoch. */
  readonly deadline?: number | undefined;
}

/**
 * Finds the records of a decision by its id. It has one table per segment, which is dropped with its segment. The table of a
 * full segment is stored beside it, and that of the last one when the log is closed, so that they need not be read at the next start.
 */
export class DecisionIndex {
  readonly #folder: string;
  /** Oldest first. */
  readonly #segments: IndexedSegment[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  get oldest(): IndexedSegment | undefined {
    return this.#segments[0];
  }

  get newest(): IndexedSegment | undefined {
    return this.#segments.at(-1);
  }

  /** Newest time of a record, ms since the epoch; 0 when there is none. */
  get newestAt(): number {
    return Math.max(0, ...this.#segments.map(({ newestAt }) => newestAt));
  }

  /** Returns the number of decisions that were made in this hour or later. */
  countSince(hour: number): number {
    let sum = 0;
    for (const { hours } of this.#segments) {
      for (const [made, count] of hours) if (made >= hour) sum += count;
    }
    return sum;
  }

  /**
   * Returns the decisions that have a default reward, were shown, and are due after this; ms since the epoch. Of them only those of
   * the newest segment are kept, for its table.
   */
  takeDue(after: number): DueDecision[] {
    const taken = this.#segments.flatMap(({ due }) => due.filter(({ deadline }) => deadline > after));
    for (const segment of this.#segments) if (segment !== this.newest) segment.due = [];
    return taken;
  }

  /** Adds a record at a byte of a segment. */
  add(segment: number, offset: number, { id, at, isDecision, deadline }: IndexedRecord): void {
    let indexed = this.newest;
    if (indexed?.first !== segment) indexed = this.#segments.find(({ first }) => first === segment);
    if (indexed === undefined) {
      indexed = { first: segment, keys: new KeyIndex(), newestAt: at, hours: new Map(), due: [] };
      this.#insert(indexed);
    }
    indexed.keys.add(id, offset);
    indexed.newestAt = Math.max(indexed.newestAt, at);
    if (deadline !== undefined) indexed.due.push({ id, deadline });
    if (!isDecision) return;
    const hour = Math.floor(at / HOUR_MS);
    indexed.hours.set(hour, (indexed.hours.get(hour) ?? 0) + 1);
  }

  /** Yields the positions of records that may have this id, newest first. */
  *find(id: string): Generator<{ readonly segment: number; readonly offset: number }> {
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const { first, keys } = this.#segments[i];
      for (const offset of keys.find(id)) yield { segment: first, offset };
    }
  }

  /** Drops the tables of the segments before this one, also on disk. */
  async dropBefore(first: number): Promise<void> {
    while (this.#segments.length > 0 && this.#segments[0].first < first) {
      const dropped = this.#segments.shift()!;
      await rm(this.#file(dropped.first), { force: true });
    }
  }

  /** Stores the table of a full segment. @param records number of its records */
  async store({ first, keys, newestAt, hours, due }: IndexedSegment, records: number): Promise<void> {
    if (keys.size !== records) return;
    const ids = Buffer.from(due.map(({ id }) => id).join('\n'));
    const deadlines = Float64Array.from(due, ({ deadline }) => deadline);
    const { hashes, offsets } = keys.table;
    const document = packDocument(
      INDEX_TAG,
      { version: VERSION, first, newestAt, records, hours: [...hours] },
      [hashes, offsets, deadlines, new Uint8Array(ids)],
    );
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32(document));
    await writeFileDurably(this.#file(first), Buffer.concat([checksum, document]));
  }

  /**
   * Loads a stored table. Returns false if there is none that fits, so that the segment has to be read.
   * @param dueAfter decisions that are due earlier are left out of it; ms since the epoch
   */
  async load(first: number, records: number, dueAfter: number): Promise<boolean> {
    const bytes = await readFile(this.#file(first)).catch(() => Buffer.alloc(0));
    if (bytes.length < 4 || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return false;
    const { json, arrays } = unpackDocument(INDEX_TAG, bytes.subarray(4));
    const stored = json as {
      readonly first: number;
      readonly newestAt: number;
      readonly records: number;
      /** Absent in tables of the first version. */
      readonly version?: number;
      readonly hours: readonly [number, number][];
    };
    if (stored.first !== first || stored.records !== records || stored.version !== VERSION) return false;
    const [hashes, offsets, deadlines, ids] = arrays as [Uint32Array, Uint32Array, Float64Array, Uint8Array];
    this.#insert({
      first,
      keys: new KeyIndex(hashes, offsets),
      newestAt: stored.newestAt,
      hours: new Map(stored.hours),
      due: dueIn(deadlines, ids, dueAfter),
    });
    return true;
  }

  /** Deletes the stored table of a segment that is appended to again. */
  async discard(first: number): Promise<void> {
    await rm(this.#file(first), { force: true });
  }

  #insert(segment: IndexedSegment): void {
    this.#segments.push(segment);
    this.#segments.sort((a, b) => a.first - b.first);
  }

  #file(first: number): string {
    return join(this.#folder, `${String(first).padStart(16, '0')}.keys`);
  }
}

function dueIn(deadlines: Float64Array, ids: Uint8Array, after: number): DueDecision[] {
  if (!deadlines.some((deadline) => deadline > after)) return [];
  return Buffer.from(ids)
    .toString()
    .split('\n')
    .map((id, at) => ({ id, deadline: deadlines[at] }))
    .filter(({ deadline }) => deadline > after);
}
