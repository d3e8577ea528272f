import { join } from 'node:path';
import { documentTag } from '../storage/packed-document.ts';
import { SegmentLog, type SegmentLogOptions } from '../storage/segment-log.ts';
import type { LogRecord } from '../storage/segment-reader.ts';
import { StorageTrimmedError } from '../storage/storage-errors.ts';
import { type Decision, type DecisionHead, type Discovery, headOf, withDiscoveries } from './decision.ts';
import { DECISION_TAG, decodeDecision, encodeDecision, indexedFieldsOf, namesIn } from './decision-codec.ts';
import {
  DecisionIndex,
  type DueDecision,
  type IndexedRecord,
  type IndexedSegment,
} from './decision-index.ts';
import {
  type Activation,
  type DecisionLog,
  type DiscoveryAppended,
  type LoggedDecision,
  TASK_DECISIONS,
} from './decision-log.ts';
import { DecisionNames, LostNamesError } from './decision-names.ts';
import {
  activationIn,
  activationRecord,
  discoveryIn,
  discoveryRecord,
  encodeActivation,
  encodeDiscovery,
  indexedActivation,
  indexedDecision,
  indexedDiscovery,
  indexedRecord,
} from './decision-records.ts';
import { RecentDecisions } from './recent-decisions.ts';

export interface FileDecisionLogOptions extends SegmentLogOptions {
  /** Decisions expire this long after they were made; ms. */
  readonly retainMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Is called with the newest time in a log that is opened. */
  readonly notice?: (time: number) => void;
  /** Is called when something failed beside the appends; it is tried again later. */
  readonly onError?: (message: string, error: unknown) => void;
}

/** Decisions are deleted in so many slices of the time for which they are kept. */
const SLICES = 16;
const READ_BATCH = 256;
/** Records that are in memory at a time while the log is read backwards. */
const BACK_BATCH = 64;
const HOUR_MS = 60 * 60 * 1000;

/**
 * The decisions of one catalog in a folder. A decision passes through these states:
 *
 * - *waiting*: appended, and not durable yet; reading does not find it.
 * - *written*: durable and in the index. An activation and each discovery are further records with the same id.
 * - *expired*: older than `retainMs`. Reading does not find it.
 * - *deleted*: the segment that holds it has been dropped, which happens when all its decisions have expired.
 */
export class FileDecisionLog implements DecisionLog {
  readonly #log: SegmentLog;
  readonly #names: DecisionNames;
  readonly #index: DecisionIndex;
  readonly #options: FileDecisionLogOptions;
  /** The last work for each id that is in progress. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #sliceStart: number;
  #hasReportedNames = false;
  /** Without those that were activated later, or discovered from. */
  readonly #recent = new RecentDecisions();
  /** Storing a table and deleting what expired go on beside the appends. */
  #upkeep: Promise<void> = Promise.resolve();

  private constructor(
    log: SegmentLog,
    names: DecisionNames,
    index: DecisionIndex,
    options: FileDecisionLogOptions,
  ) {
    this.#log = log;
    this.#names = names;
    this.#index = index;
    this.#options = options;
    this.#sliceStart = options.now();
  }

  /** @throws StoreUnavailableError; StorageCorruptError, which names file and byte */
  static async open(folder: string, options: FileDecisionLogOptions): Promise<FileDecisionLog> {
    const log = await SegmentLog.open(folder, options);
    try {
      const names = await DecisionNames.open(join(folder, 'names'), options);
      const opened = new FileDecisionLog(log, names, new DecisionIndex(folder), options);
      await opened.#begin().catch(async (error: unknown) => {
        await names.close();
        throw error;
      });
      return opened;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  append(decision: Decision): Promise<boolean> {
    const { id } = decision;
    return this.#inTurn(id, async () => {
      if ((await this.#find(id)) !== null) return false;
      await this.#names.add(namesIn(decision));
      const bytes = encodeDecision(decision, this.#names);
      await this.#append(bytes, indexedDecision(decision));
      const { embedding, terms } = decision.query; // what is read again
      this.#recent.add({ ...decision, query: { embedding, terms } }, bytes);
      return true;
    });
  }

  get(id: string): Promise<Decision | null> {
    return this.#find(id);
  }

  async useAll<Used>(
    ids: readonly string[],
    use: (decision: Decision | null, index: number) => Used,
  ): Promise<Used[]> {
    const used: Used[] = [];
    for (const [index, id] of ids.entries()) used.push(use(await this.#find(id), index));
    return used;
  }

  async head(id: string): Promise<DecisionHead | null> {
    const decision = await this.get(id);
    return decision === null ? null : headOf(decision);
  }

  activate(id: string, at: number): Promise<Activation> {
    return this.#inTurn(id, () => this.#activate(id, at));
  }

  discover(id: string, discovery: Discovery, after: number): Promise<DiscoveryAppended> {
    return this.#inTurn(id, async () => {
      const decision = await this.#find(id);
      if (decision === null) return 'unknown';
      if ((decision.discoveries?.length ?? 0) !== after) return 'moved';
      this.#recent.drop(id);
      const discovered = discoveryRecord(decision, discovery);
      await this.#append(encodeDiscovery(discovered), indexedDiscovery(discovered));
      return 'added';
    });
  }

  async ofTask(key: string, limit = TASK_DECISIONS): Promise<DecisionHead[]> {
    const heads: DecisionHead[] = [];
    for (const id of this.#index.ofTask(key).slice(0, limit)) {
      const head = await this.head(id);
      if (head !== null) heads.push(head);
    }
    return heads;
  }

  async countSince(hour: number): Promise<number> {
    return this.#index.countSince(Math.floor(hour / HOUR_MS));
  }

  /**
   * Returns the decisions with a default reward that may not be settled yet. Call it once, before there are many new ones: those
   * that were found when the log was opened are not kept.
   */
  takeAwaitingDefault(): readonly DueDecision[] {
    return this.#index.takeDue();
  }

  async *read(): AsyncGenerator<Decision> {
    const end = this.#log.last;
    let after = this.#log.first - 1;
    while (after < end) {
      for (const record of await this.#readSome(after)) {
        after = record.sequence;
        const decision = this.#decisionIn(record);
        if (decision === null) continue;
        yield this.#mayHaveMore(decision) ? ((await this.get(decision.id)) ?? decision) : decision;
      }
      after = Math.max(after, this.#log.first - 1);
    }
  }

  newestFirst(cursor?: string): AsyncIterable<LoggedDecision> | null {
    if (cursor === undefined) return this.#backwards(this.#log.last);
    return /^\d{1,15}$/.test(cursor) ? this.#backwards(Math.min(Number(cursor) - 1, this.#log.last)) : null;
  }

  /** @param newest sequence of the record to begin with */
  async *#backwards(newest: number): AsyncGenerator<LoggedDecision> {
    for (let end = newest; end >= this.#log.first; end -= BACK_BATCH) {
      const records: LogRecord[] = [];
      for (let after = Math.max(end - BACK_BATCH, this.#log.first - 1); after < end; ) {
        const some = (await this.#readSome(after, BACK_BATCH)).filter(({ sequence }) => sequence <= end);
        if (some.length === 0) break;
        records.push(...some);
        after = some[some.length - 1].sequence;
      }
      for (const record of records.reverse()) {
        const decision = this.#decisionIn(record);
        if (decision === null) continue;
        const found = this.#mayHaveMore(decision) ? await this.get(decision.id) : decision;
        yield { decision: found ?? decision, cursor: String(record.sequence) };
      }
    }
  }

  /** Deletes segments in which everything has expired. This is also done whenever a segment is full. */
  expire(): Promise<void> {
    const expired = this.#upkeep.then(() => this.#expire());
    this.#upkeep = expired.catch(() => {});
    return expired;
  }

  /** Closes a log that is deleted next: nothing is stored for another start. */
  async discard(): Promise<void> {
    await this.#log.close();
    await this.#names.close();
    await this.#upkeep;
  }

  /** Stores the index of the segment that is not full as well, so that the next start need not read it. */
  async close(): Promise<void> {
    await this.discard();
    const { newest } = this.#index;
    if (newest === undefined || newest.first !== this.#log.segments.at(-1)) return;
    await this.#index
      .store(newest, this.#log.last - newest.first + 1)
      .catch((error) =>
        this.#options.onError?.(`the index of "${this.#log.folder}" could not be stored`, error),
      );
  }

  async #append(bytes: Uint8Array, record: IndexedRecord): Promise<void> {
    const startSegment = record.isDecision && this.#sliceIsOver();
    const placed = await this.#log.append([bytes], { startSegment });
    const before = this.#index.newest;
    this.#index.add(placed.segment, placed.offset, record);
    if (before !== undefined && before.first !== placed.segment) this.#keepUp(before, placed.segment);
  }

  /** Stores the table of a full segment and expires old ones. A failure costs time at the next start, or is tried again later. */
  #keepUp(full: IndexedSegment, next: number): void {
    this.#upkeep = this.#upkeep
      .then(() => this.#index.store(full, next - full.first))
      .then(() => {
        full.due = [];
        full.tasks = [];
      })
      .then(() => this.#expire())
      .catch((error) =>
        this.#options.onError?.(
          `the index of a full segment of "${this.#log.folder}" could not be stored, or old segments not deleted`,
          error,
        ),
      );
  }

  async #expire(): Promise<void> {
    for (let oldest = this.#index.oldest; oldest !== undefined; oldest = this.#index.oldest) {
      if (!this.#isExpired(oldest.newestAt)) return;
      if (this.#log.segments.length === 1) await this.#log.append([], { startSegment: true });
      const next = this.#log.segments[1];
      await this.#log.drop(next - 1);
      await this.#index.dropBefore(next);
    }
  }

  /** Finds a decision. It reads the newest record first, so that of several with one id the first one is returned. */
  async #find(id: string): Promise<Decision | null> {
    const recent = this.#recent.get(id);
    if (recent !== undefined) {
      const decision = recent instanceof Uint8Array ? decodeDecision(recent, this.#names) : recent;
      if (!this.#isExpired(decision.at)) return decision;
      this.#recent.drop(id);
      return null;
    }
    let activatedAt: number | null = null;
    let found: Decision | null = null;
    const discoveries: Discovery[] = [];
    for (const { segment, offset } of this.#index.find(id)) {
      const bytes = await this.#readAt(segment, offset);
      if (bytes === null) break;
      const activation = activationIn(bytes);
      if (activation !== null) {
        if (activation.id === id) activatedAt = activation.at;
        continue;
      }
      const discovered = discoveryIn(bytes);
      if (discovered !== null) {
        if (discovered.id === id) discoveries.unshift(discovered.discovery);
        continue;
      }
      const decision = decodeDecision(bytes, this.#names);
      if (decision.id !== id) continue;
      if (this.#isExpired(decision.at)) break;
      found = decision;
    }
    if (found === null) return null;
    const { at } = found;
    // An id can be used again when its decision has expired.
    const own = discoveries.filter((discovery) => discovery.at >= at);
    return withDiscoveries({ ...found, activatedAt: found.activatedAt ?? activatedAt }, own);
  }

  async #activate(id: string, at: number): Promise<Activation> {
    const decision = await this.#find(id);
    if (decision === null) return 'unknown';
    if (decision.activatedAt !== null) return 'again';
    const activation = activationRecord(decision, at);
    this.#recent.drop(id);
    await this.#append(encodeActivation(activation), indexedActivation(activation));
    return 'first';
  }

  /** Runs work for one id after all earlier work for it, so that it finds what that has written. */
  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#turns.set(id, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }

  /** Reads a record; null when it has been deleted in the meantime. */
  async #readAt(segment: number, offset: number): Promise<Uint8Array | null> {
    try {
      return await this.#log.readAt(segment, offset);
    } catch (error) {
      if (error instanceof StorageTrimmedError) return null;
      throw error;
    }
  }

  async #readSome(after: number, limit = READ_BATCH): Promise<LogRecord[]> {
    try {
      return await this.#log.read(after, limit);
    } catch (error) {
      if (error instanceof StorageTrimmedError) return [];
      throw error;
    }
  }

  /** Returns null for a record that is no decision, or one that has expired; one without its names is reported and left out. */
  #decisionIn({ bytes }: LogRecord): Decision | null {
    if (documentTag(bytes) !== DECISION_TAG) return null;
    try {
      const decision = decodeDecision(bytes, this.#names);
      return this.#isExpired(decision.at) ? null : decision;
    } catch (error) {
      if (!(error instanceof LostNamesError)) throw error;
      if (!this.#hasReportedNames)
        this.#options.onError?.('decisions without their names are left out', error);
      this.#hasReportedNames = true;
      return null;
    }
  }

  /** Returns whether a decision may have been activated later, or have discoveries. */
  #mayHaveMore({ id }: Decision): boolean {
    let records = 0;
    for (const _ of this.#index.find(id)) if (++records > 1) return true;
    return false;
  }

  #isExpired(at: number): boolean {
    return at + this.#options.retainMs <= this.#options.now();
  }

  #sliceIsOver(): boolean {
    const now = this.#options.now();
    if (now - this.#sliceStart < this.#options.retainMs / SLICES) return false;
    this.#sliceStart = now;
    return true;
  }

  async #begin(): Promise<void> {
    await this.#buildIndex();
    await this.#checkNewest();
    this.#options.notice?.(this.#index.newestAt);
    await this.expire();
  }

  /** With a stored table nothing of the log is read, and what another version wrote has to be refused before something is written. */
  async #checkNewest(): Promise<void> {
    const { last } = this.#log;
    const [newest] = last === 0 ? [] : await this.#readSome(last - 1, 1);
    if (newest !== undefined && documentTag(newest.bytes) === DECISION_TAG) indexedFieldsOf(newest.bytes);
  }

  async #buildIndex(): Promise<void> {
    const firsts = this.#log.segments;
    // The newest one first: it says which times still count.
    for (const [i, first] of [...firsts.entries()].reverse()) {
      const isFull = i + 1 < firsts.length;
      const end = isFull ? firsts[i + 1] - 1 : this.#log.last;
      const isStored = await this.#index.load(first, end - first + 1, this.#index.dueAfter);
      if (!isFull) await this.#index.discard(first);
      if (isStored) {
        if (!isFull) this.#goOnFrom(this.#index.newest!);
        continue;
      }
      for (let after = first - 1; after < end; ) {
        for (const record of await this.#log.read(after, READ_BATCH)) {
          this.#addToIndex(record);
          after = record.sequence;
        }
      }
    }
    this.#index.loaded();
  }

  /** A process that is started often must not go on with the same segment for ever. */
  #goOnFrom({ hours }: IndexedSegment): void {
    const [first] = [...hours.keys()].sort((a, b) => a - b);
    if (first !== undefined) this.#sliceStart = first * HOUR_MS;
  }

  #addToIndex({ segment, offset, bytes }: LogRecord): void {
    const record = indexedRecord(bytes);
    // A process that is started often must not go on with the same segment for ever.
    if (this.#index.newest === undefined) this.#sliceStart = record.at;
    this.#index.add(segment, offset, record);
  }
}
