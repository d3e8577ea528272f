import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { ToolPut } from '../ledger/entry.ts';
import { providerName } from '../ledger/provider-name.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';

/** Counts of a tool that users see; learners keep other ones. */
export interface ToolStatistics {
  /** Times this tool was in a slate for which anything was reported. */
  shown: number;
  called: number;
  successes: number;
  failures: number;
  /** Sum of the reported values, negative ones included. */
  rewardSum: number;
  /** Outcomes that say nothing about relevance: timeouts and refusals. */
  unlearned: number;
  /** Those of them that are timeouts. */
  timeouts: number;
}

export interface ToolRecord {
  /** Row of this tool in every dense array; it stays with the tool through removal, return and renaming. */
  readonly slot: number;
  readonly tool: ToolDefinition;
  readonly hash: string;
  /** The source of the tool; only this source may change or remove it. */
  readonly source: string;
  /** Its name at the source, where that is another one. */
  readonly nameThere?: string;
  readonly addedAt: number;
  /** Tombstone: when it was removed; null while it is live. */
  readonly removedAt: number | null;
  readonly statistics: ToolStatistics;
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

/** Keeps the tools of one catalog, live ones and tombstones, and their slots. */
export class ToolTable {
  readonly #kernels: Kernels;
  readonly #byName = new Map<string, ToolRecord>();
  /** Names of the tools, also removed ones, whose provider name is another one. */
  readonly #byProviderName = new Map<string, string>();
  readonly #bySlot: (ToolRecord | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  #vectors: ToolVectors;
  #live = 0;
  #followers: Follower<ToolRecord>[] = [];

  constructor(kernels: Kernels, dimensions: number) {
    this.#kernels = kernels;
    this.#vectors = new ToolVectors(kernels, dimensions);
  }

  get vectors(): ToolVectors {
    return this.#vectors;
  }

  /** Number of live tools. */
  get size(): number {
    return this.#live;
  }

  /** Returns live tools and tombstones, in the order in which they were first put. */
  records(): IterableIterator<ToolRecord> {
    return this.#byName.values();
  }

  *live(): IterableIterator<ToolRecord> {
    for (const record of this.#byName.values()) if (record.removedAt === null) yield record;
  }

  /** Returns the live tool of this name. */
  get(name: string): ToolRecord | undefined {
    const record = this.#byName.get(name);
    return record?.removedAt === null ? record : undefined;
  }

  /** Returns the tool of this name, removed or not. */
  find(name: string): ToolRecord | undefined {
    return this.#byName.get(name);
  }

  /** Returns the name of the tool that a caller names, by its name or its provider name; unknown names as they are. */
  nameOf(text: string): string {
    const name = this.#byProviderName.get(text);
    if (name === undefined) return text;
    return this.get(name) === undefined && this.#byName.has(text) ? text : name;
  }

  atSlot(slot: number): ToolRecord | undefined {
    return this.#bySlot[slot];
  }

  /** Calls `follower` for every live tool, and from now on for every change. */
  follow(follower: Follower<ToolRecord>): void {
    this.#followers.push(follower);
    follower.reset(this.#vectors);
    for (const record of this.live()) follower.put(record);
  }

  unfollow(follower: Follower<ToolRecord>): void {
    this.#followers = this.#followers.filter((other) => other !== follower);
  }

  /** Adds a tool, makes a removed one live again, or changes one. The tool gets the slot of `rename`, if given. */
  put(
    { tool, hash, embedding, nameThere }: ToolPut,
    source: string,
    at: number,
    rename?: ToolRecord,
  ): ToolRecord {
    const before = rename ?? this.#byName.get(tool.name);
    if (rename !== undefined) this.#forgetName(rename.tool.name);
    const record: ToolRecord = {
      slot: before?.slot ?? this.#freeSlots.pop() ?? this.#bySlot.length,
      tool,
      hash,
      source,
      ...(nameThere !== undefined && { nameThere }),
      addedAt: before?.addedAt ?? at,
      removedAt: null,
      statistics: before?.statistics ?? emptyStatistics(),
    };
    if (before === undefined || before.removedAt !== null) this.#live++;
    this.#store(record);
    this.#vectors.put(record.slot, embedding);
    for (const follower of this.#followers) follower.put(record);
    return record;
  }

  /** Removes a tool and leaves a tombstone; the slot and everything learned about it stay. */
  remove(record: ToolRecord, at: number): void {
    this.#live--;
    this.#store({ ...record, removedAt: at });
    for (const follower of this.#followers) follower.remove(record);
  }

  /** From now on the tool is one of another source, under the name that it has here. */
  giveTo({ nameThere: _, ...record }: ToolRecord, source: string): void {
    this.#store({ ...record, source });
  }

  /** Sets the counts of a tool to 0. */
  clearStatistics({ statistics }: ToolRecord): void {
    Object.assign(statistics, emptyStatistics());
  }

  /** Deletes a tombstone for good; its slot is free for another tool. */
  expire(record: ToolRecord): void {
    this.#forgetName(record.tool.name);
    this.#bySlot[record.slot] = undefined;
    this.#freeSlots.push(record.slot);
    this.#vectors.clear(record.slot);
  }

  /** Replaces all vectors by those of another embedder. */
  replaceVectors(dimensions: number, vectorOf: (record: ToolRecord) => Float32Array | null): void {
    this.#vectors.free();
    this.#vectors = new ToolVectors(this.#kernels, dimensions);
    for (const record of this.#byName.values()) this.#vectors.put(record.slot, vectorOf(record));
    for (const follower of this.#followers) follower.replaceVectors(this.#vectors);
  }

  /** Returns the free slots, of which the last is used next; part of the canonical state. */
  freeSlots(): readonly number[] {
    return this.#freeSlots;
  }

  /** Restores a record exactly as a snapshot has it. */
  restore(record: ToolRecord, vector: Float32Array | null): void {
    this.#store(record);
    if (record.removedAt === null) this.#live++;
    this.#vectors.put(record.slot, vector);
  }

  restoreFreeSlots(slots: readonly number[]): void {
    this.#freeSlots.push(...slots);
  }

  free(): void {
    this.#vectors.free();
  }

  #store(record: ToolRecord): void {
    const { name } = record.tool;
    this.#byName.set(name, record);
    if (providerName(name) !== name) this.#byProviderName.set(providerName(name), name);
    this.#bySlot[record.slot] = record;
  }

  #forgetName(name: string): void {
    this.#byName.delete(name);
    this.#byProviderName.delete(providerName(name));
  }
}

function emptyStatistics(): ToolStatistics {
  return { shown: 0, called: 0, successes: 0, failures: 0, rewardSum: 0, unlearned: 0, timeouts: 0 };
}
