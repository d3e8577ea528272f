import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { groupBytes, MAX_GROUP_RECORDS, MAX_RECORD_BYTES } from './record-format.ts';

export interface WriteOptions {
  /** Begin a new segment with this batch. */
  readonly startSegment?: boolean;
}

/** The position of an appended batch. */
export interface Appended {
  /** Sequence number of its last record. */
  readonly last: number;
  /** First sequence number of its segment. */
  readonly segment: number;
  /** Byte at which its first record starts. */
  readonly offset: number;
}

/** The position of a group. */
export interface CommittedGroup {
  readonly first: number;
  readonly segment: number;
  readonly offset: number;
}

/** Makes one group durable. If it throws, nothing of the group was kept. */
export type CommitGroup = (records: readonly Uint8Array[], startSegment: boolean) => Promise<CommittedGroup>;

interface Batch {
  readonly records: readonly Uint8Array[];
  readonly bytes: number;
  readonly startSegment: boolean;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/** Largest group: large enough to make a sync cheap per batch; more would delay the first batches. */
const GROUP_BYTES = 4 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** How long a group waits for the batches that are expected. */
const COMPANY_MS = 1;

/**
 * Group commit: collects batches while the disk is busy and writes them as groups, in order, one group at a time. States:
 *
 * - *idle*: nothing waits. The first `add` starts the loop.
 * - *gathering*: as many batches are expected as were under way when the last group was written, for a millisecond at most. One
 *   producer alone never waits: after its last group nothing was under way.
 * - *writing*: one group is being made durable; batches that are added meanwhile wait for the next one. Batches of a group
 *   resolve or reject together. More than 64 MB of waiting bytes are refused.
 * - *closed*: `add` is refused; batches that were added before are still written.
 */
export class GroupCommit {
  readonly #commitGroup: CommitGroup;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | null = null;
  /** Batches that were under way when the last group was durable, its own included. */
  #expected = 1;
  #onAll = (): void => {};
  #closed = false;

  constructor(commitGroup: CommitGroup) {
    this.#commitGroup = commitGroup;
  }

  /** Resolves once the batch is durable. @throws StoreUnavailableError when it was not kept. */
  add(records: readonly Uint8Array[], options: WriteOptions): Promise<Appended> {
    return new Promise((resolve, reject) => {
      const bytes = groupBytes(records);
      this.#refuse(records, bytes);
      this.#waiting.push({ records, bytes, startSegment: options.startSegment ?? false, resolve, reject });
      this.#waitingBytes += bytes;
      if (this.#waiting.length >= this.#expected) this.#onAll();
      this.#running ??= this.#run();
    });
  }

  /** Refuses further batches and waits for those that were added. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#onAll();
    await this.#running;
  }

  #refuse(records: readonly Uint8Array[], bytes: number): void {
    if (this.#closed) throw new StoreUnavailableError('The log is closed.');
    if (records.length > MAX_GROUP_RECORDS) {
      throw new RangeError(`A batch has at most ${MAX_GROUP_RECORDS} records, not ${records.length}.`);
    }
    if (records.some(({ length }) => length > MAX_RECORD_BYTES)) {
      throw new RangeError(`A record has at most ${MAX_RECORD_BYTES} bytes.`);
    }
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      throw new StoreUnavailableError('The disk does not keep up: too much is waiting to be written.');
    }
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn(); // callers that waited for the last group can add to this one
      if (this.#waiting.length < this.#expected && !this.#closed) await this.#gather();
      const group = this.#take();
      try {
        const records = group.length === 1 ? group[0].records : group.flatMap((batch) => batch.records);
        const placed = await this.#commitGroup(records, group[0].startSegment);
        let last = placed.first - 1;
        let offset = placed.offset;
        for (const batch of group) {
          last += batch.records.length;
          batch.resolve({ last, segment: placed.segment, offset });
          offset += batch.bytes;
        }
      } catch (error) {
        for (const batch of group) batch.reject(error);
      }
      this.#expected = group.length + this.#waiting.length;
    }
    this.#running = null;
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, COMPANY_MS);
      this.#onAll = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #take(): Batch[] {
    let count = 0;
    let records = 0;
    let bytes = 0;
    for (const batch of this.#waiting) {
      const full = records + batch.records.length > MAX_GROUP_RECORDS || bytes + batch.bytes > GROUP_BYTES;
      if (count > 0 && (full || batch.startSegment)) break;
      count++;
      records += batch.records.length;
      bytes += batch.bytes;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }
}
