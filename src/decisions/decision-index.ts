import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { writeFileDurably } from '../storage/durable-file.ts';
import { KeyIndex } from '../storage/key-index.ts';
import { type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';
import { type TaskDecision, TaskIndex } from './task-index.ts';

/** Tag of a stored index; ledger entries, decisions, snapshots and activations have 1 to 4, discoveries 6. */
const INDEX_TAG = 5;

/** Of a stored index; one of another version is made anew. */
const VERSION = 3;
const HOUR_MS = 60 * 60 * 1000;
/** A decision that was due so long before the newest one is settled and learned from no more: the fold has dropped it. */
const LONGEST_GRACE_MS = 24 * HOUR_MS;

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
  /** Decisions of tasks that were shown, in the order of their records. */
  tasks: TaskDecision[];
}

/** What the index has to know about a record. */
export interface IndexedRecord {
  readonly id: string;
  readonly at: number;
  /** A decision, as opposed to an activation. */
  readonly isDecision: boolean;
  /** When a decision with a default reward, which was shown, has to be settled; ms since the epoch. */
  readonly deadline?: number | undefined;
  /** Of a decision of a task or thread that was shown. */
  readonly inTasks?: readonly TaskDecision[] | undefined;
}

/**
 * Finds the records of a decision by its id. It has one table per segment, which is dropped with its segment. The table of a
 * full segment is stored beside it, and that of the last one when the log is closed, so that they need not be read at the next start.
 */
export class DecisionIndex {
  readonly #folder: string;
  /** Oldest first. */
  readonly #segments: IndexedSegment[] = [];
  #tasks = new TaskIndex();

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

  /** Decisions that were due before this are settled and learned from no more; ms since the epoch. */
  get dueAfter(): number {
    return this.newestAt - LONGEST_GRACE_MS;
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
   * Returns the decisions that have a default reward, were shown, and are due after `dueAfter`. Of them only those of the newest
   * segment are kept, for its table.
   */
  takeDue(): DueDecision[] {
    const after = this.dueAfter;
    const taken = this.#segments.flatMap(({ due }) => due.filter(({ deadline }) => deadline > after));
    for (const segment of this.#segments) if (segment !== this.newest) segment.due = [];
    return taken;
  }

  /** Adds a record at a byte of a segment. */
  add(segment: number, offset: number, { id, at, isDecision, deadline, inTasks = [] }: IndexedRecord): void {
    let indexed = this.newest;
    if (indexed?.first !== segment) indexed = this.#segments.find(({ first }) => first === segment);
    if (indexed === undefined) {
      indexed = { first: segment, keys: new KeyIndex(), newestAt: at, hours: new Map(), due: [], tasks: [] };
      this.#insert(indexed);
    }
    indexed.keys.add(id, offset);
    indexed.newestAt = Math.max(indexed.newestAt, at);
    if (deadline !== undefined) indexed.due.push({ id, deadline });
    for (const inTask of inTasks) {
      indexed.tasks.push(inTask);
      this.#tasks.add(inTask, this.dueAfter);
    }
    if (!isDecision) return;
    const hour = Math.floor(at / HOUR_MS);
    indexed.hours.set(hour, (indexed.hours.get(hour) ?? 0) + 1);
  }

  /** Returns the ids of the decisions of a task that were shown, newest first. @param key of a task, of a task id alone, or of a thread */
  ofTask(key: string): string[] {
    return this.#tasks.find(key);
  }

  /** Call it when all segments have been loaded or read, in whatever order that was. */
  loaded(): void {
    this.#tasks = new TaskIndex();
    for (const segment of this.#segments) {
      for (const decision of segment.tasks) this.#tasks.add(decision, this.dueAfter);
      if (segment !== this.newest) segment.tasks = [];
    }
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
  async store({ first, keys, newestAt, hours, due, tasks }: IndexedSegment, records: number): Promise<void> {
    if (keys.size !== records) return;
    const { hashes, offsets } = keys.table;
    const document = packDocument(
      INDEX_TAG,
      { version: VERSION, first, newestAt, records, hours: [...hours] },
      [hashes, offsets, ...arraysOf(due), ...arraysOf(tasks), asText(tasks.map(({ task }) => task))],
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
    const [hashes, offsets] = arrays as [Uint32Array, Uint32Array];
    const tasks = linesOf(arrays[6]);
    this.#insert({
      first,
      keys: new KeyIndex(hashes, offsets),
      newestAt: stored.newestAt,
      hours: new Map(stored.hours),
      due: dueIn(arrays[2], arrays[3], dueAfter),
      tasks: dueIn(arrays[4], arrays[5], dueAfter, (at) => ({ task: tasks()[at] })),
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

function arraysOf(due: readonly DueDecision[]): [Float64Array, Uint8Array] {
  return [Float64Array.from(due, ({ deadline }) => deadline), asText(due.map(({ id }) => id))];
}

function asText(lines: readonly string[]): Uint8Array {
  return new Uint8Array(Buffer.from(lines.join('\n')));
}

/** Splits lines only where they are needed: most tables have none that still count. */
function linesOf(text: NumberArray): () => string[] {
  let lines: string[] | null = null;
  return () => {
    lines ??= Buffer.from(text as Uint8Array)
      .toString()
      .split('\n');
    return lines;
  };
}

function dueIn<More = unknown>(
  deadlines: NumberArray,
  ids: NumberArray,
  after: number,
  more: (at: number) => More = () => ({}) as More,
): (DueDecision & More)[] {
  const lines = linesOf(ids);
  const due: (DueDecision & More)[] = [];
  for (const [at, deadline] of deadlines.entries()) {
    if (deadline > after) due.push({ id: lines()[at], deadline, ...more(at) });
  }
  return due;
}
