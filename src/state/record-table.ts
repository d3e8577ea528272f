import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';

/** A record of a `RecordTable`. */
export interface SlotRecord {
  /** Row of this record in every dense array; it stays with it through removal, return and renaming. */
  readonly slot: number;
  /** Tombstone: when it was removed; null while it is live. */
  readonly removedAt: number | null;
}

/** Is called for every change of the live records of a table, to keep something derived from them up to date, for example an index. */
export interface Follower<Followed> {
  /** The record at this slot is new, was put again after its removal, or was changed. */
  put(record: Followed): void;
  remove(record: Followed): void;
  /** The follower has to forget all records; `put` is called for each live one next. */
  reset(vectors: ToolVectors): void;
  /** All vectors were replaced, perhaps with other dimensions; the records are the same. */
  replaceVectors(vectors: ToolVectors): void;
}

/** Keeps records by id, live ones and tombstones, their slots and their vectors. */
export abstract class RecordTable<Kept extends SlotRecord> {
  readonly #kernels: Kernels;
  readonly #byId = new Map<string, Kept>();
  readonly #bySlot: (Kept | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  #vectors: ToolVectors;
  #live = 0;
  #followers: Follower<Kept>[] = [];

  constructor(kernels: Kernels, dimensions: number) {
    this.#kernels = kernels;
    this.#vectors = new ToolVectors(kernels, dimensions);
  }

  protected abstract idOf(record: Kept): string;

  get vectors(): ToolVectors {
    return this.#vectors;
  }

  /** Number of live records. */
  get size(): number {
    return this.#live;
  }

  /** Returns live records and tombstones, in the order in which they were first put. */
  records(): IterableIterator<Kept> {
    return this.#byId.values();
  }

  *live(): IterableIterator<Kept> {
    for (const record of this.#byId.values()) if (record.removedAt === null) yield record;
  }

  /** Returns the live record of this id. */
  get(id: string): Kept | undefined {
    const record = this.#byId.get(id);
    return record?.removedAt === null ? record : undefined;
  }

  /** Returns the record of this id, removed or not. */
  find(id: string): Kept | undefined {
    return this.#byId.get(id);
  }

  atSlot(slot: number): Kept | undefined {
    return this.#bySlot[slot];
  }

  /** Calls `follower` for every live record, and from now on for every change. */
  follow(follower: Follower<Kept>): void {
    this.#followers.push(follower);
    follower.reset(this.#vectors);
    for (const record of this.live()) {
      const shown = this.shownTo(record);
      if (shown !== null) follower.put(shown);
    }
  }

  unfollow(follower: Follower<Kept>): void {
    this.#followers = this.#followers.filter((other) => other !== follower);
  }

  /** Removes a record and leaves a tombstone; the slot and everything learned about it stay. */
  remove(record: Kept, at: number): void {
    const removed = { ...record, removedAt: at };
    this.store(removed);
    for (const follower of this.#followers) follower.remove(removed);
  }

  /** Deletes a tombstone for good; its slot is free for another record. */
  expire(record: Kept): void {
    this.forgetId(this.idOf(record));
    this.#bySlot[record.slot] = undefined;
    this.#freeSlots.push(record.slot);
    this.#vectors.clear(record.slot);
  }

  /** Replaces all vectors by those of another embedder. */
  replaceVectors(dimensions: number, vectorOf: (record: Kept) => Float32Array | null): void {
    this.#vectors.free();
    this.#vectors = new ToolVectors(this.#kernels, dimensions);
    for (const record of this.#byId.values()) this.#vectors.put(record.slot, vectorOf(record));
    for (const follower of this.#followers) follower.replaceVectors(this.#vectors);
  }

  /** Returns the free slots, of which the last is used next; part of the canonical state. */
  freeSlots(): readonly number[] {
    return this.#freeSlots;
  }

  /** Restores a record exactly as a snapshot has it. */
  restore(record: Kept, vector: Float32Array | null): void {
    this.store(record);
    this.#vectors.put(record.slot, vector);
  }

  restoreFreeSlots(slots: readonly number[]): void {
    this.#freeSlots.push(...slots);
  }

  free(): void {
    this.#vectors.free();
  }

  /** Returns the slot for a record that has none yet. */
  protected takeSlot(): number {
    return this.#freeSlots.pop() ?? this.#bySlot.length;
  }

  /** Stores a live record, and calls the followers for it. Its vector, if that is another one, has to be there before. */
  protected change(record: Kept): void {
    this.store(record);
    this.announce(record);
  }

  /** Calls the followers for a live record as it is shown to them now. */
  protected announce(record: Kept): void {
    const shown = this.shownTo(record);
    for (const follower of this.#followers) {
      if (shown === null) follower.remove(record);
      else follower.put(shown);
    }
  }

  /** Returns what followers get of a live record; null: nothing. */
  protected shownTo(record: Kept): Kept | null {
    return record;
  }

  /** Stores a record at its slot, in place of the one that is there; no follower is called. */
  protected store(record: Kept): void {
    const wasLive = this.#bySlot[record.slot]?.removedAt === null;
    this.#live += Number(record.removedAt === null) - Number(wasLive);
    this.#byId.set(this.idOf(record), record);
    this.#bySlot[record.slot] = record;
  }

  protected forgetId(id: string): void {
    this.#byId.delete(id);
  }
}
