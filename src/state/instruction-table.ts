import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { InstructionDefinition, InstructionStatus } from '../ledger/instruction-definition.ts';
import type { Follower } from './tool-table.ts';

export interface InstructionRecord {
  /** Row of this instruction in every dense array; it stays with the id through removal and return. */
  readonly slot: number;
  /** What is served, if its status is `approved`. */
  readonly instruction: InstructionDefinition;
  /** Of everything but its status. */
  readonly hash: string;
  readonly addedAt: number;
  /** When its text, another member or its status changed last. */
  readonly updatedAt: number;
  /** When the definition was approved, and by whom, where that is known. */
  readonly approval?: { readonly at: number; readonly actor?: string };
  /** A change of an approved instruction: until it is approved, the one before is served. */
  readonly pending?: PendingInstruction;
  /** Tombstone: when it was removed; null while it is live. */
  readonly removedAt: number | null;
}

export interface PendingInstruction {
  readonly instruction: InstructionDefinition;
  readonly hash: string;
  readonly at: number;
}

/** One change of the instructions: who did what, and when. */
export interface InstructionChange {
  /** Revision afterwards. */
  readonly revision: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly actor?: string;
  /** How many of each; an instruction that is new and approved at once is counted as both. */
  readonly counts: Readonly<Record<InstructionEvent, number>>;
  /** The first ids of each, at most `MAX_LOGGED_IDS`. */
  readonly ids: Readonly<Record<InstructionEvent, readonly string[]>>;
}

export const INSTRUCTION_EVENTS = ['added', 'changed', 'approved', 'withdrawn', 'removed'] as const;
/** `changed`: another definition, be it served or pending. `withdrawn`: it was approved, and is a draft again. */
export type InstructionEvent = (typeof INSTRUCTION_EVENTS)[number];

export const MAX_LOGGED_IDS = 100;
/** Older changes are in the ledger alone. */
export const MAX_INSTRUCTION_CHANGES = 500;

/** Keeps the instructions of one catalog, live ones and tombstones, their slots and the log of their changes. */
export class InstructionTable {
  /** Changes whenever an instruction changes; the revision of the tools is another one. */
  revision = 'i0';
  readonly #kernels: Kernels;
  readonly #byId = new Map<string, InstructionRecord>();
  readonly #bySlot: (InstructionRecord | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #changes: InstructionChange[] = [];
  /** Ids of approved instructions of kind `safety`, in no particular order: every route with instructions asks for them. */
  readonly #safety = new Set<string>();
  #vectors: ToolVectors;
  #live = 0;
  #followers: Follower<InstructionRecord>[] = [];

  constructor(kernels: Kernels, dimensions: number) {
    this.#kernels = kernels;
    this.#vectors = new ToolVectors(kernels, dimensions);
  }

  get vectors(): ToolVectors {
    return this.#vectors;
  }

  /** Number of live instructions, drafts among them. */
  get size(): number {
    return this.#live;
  }

  /** Returns live instructions and tombstones, in the order in which they were first put. */
  records(): IterableIterator<InstructionRecord> {
    return this.#byId.values();
  }

  *live(): IterableIterator<InstructionRecord> {
    for (const record of this.#byId.values()) if (record.removedAt === null) yield record;
  }

  /** Returns the live instruction of this id, be it a draft or approved. */
  get(id: string): InstructionRecord | undefined {
    const record = this.#byId.get(id);
    return record?.removedAt === null ? record : undefined;
  }

  /** Returns the instruction of this id, removed or not. */
  find(id: string): InstructionRecord | undefined {
    return this.#byId.get(id);
  }

  /** Returns the live approved instructions of kind `safety`, in no particular order. */
  safety(): readonly InstructionRecord[] {
    return [...this.#safety].map((id) => this.#byId.get(id)!);
  }

  atSlot(slot: number): InstructionRecord | undefined {
    return this.#bySlot[slot];
  }

  /** Changes of the instructions, oldest first. */
  changes(): readonly InstructionChange[] {
    return this.#changes;
  }

  /** Calls `follower` for every live instruction, and from now on for every change. */
  follow(follower: Follower<InstructionRecord>): void {
    this.#followers.push(follower);
    follower.reset(this.#vectors);
    for (const record of this.live()) follower.put(record);
  }

  unfollow(follower: Follower<InstructionRecord>): void {
    this.#followers = this.#followers.filter((other) => other !== follower);
  }

  /** Adds an instruction, makes a removed one live again, or replaces what is served of one. */
  put(
    instruction: InstructionDefinition,
    { hash, embedding }: { readonly hash: string; readonly embedding: Float32Array | null },
    approval: InstructionRecord['approval'],
    at: number,
  ): InstructionRecord {
    const before = this.#byId.get(instruction.id);
    const record: InstructionRecord = {
      slot: before?.slot ?? this.#freeSlots.pop() ?? this.#bySlot.length,
      instruction,
      hash,
      addedAt: before?.addedAt ?? at,
      updatedAt: at,
      ...(approval !== undefined && { approval }),
      removedAt: null,
    };
    if (before === undefined || before.removedAt !== null) this.#live++;
    this.#vectors.put(record.slot, embedding);
    this.#store(record);
    for (const follower of this.#followers) follower.put(record);
    return record;
  }

  /** Keeps a change of an approved instruction until it is approved; null: the one before stands. */
  hold({ pending: _, ...record }: InstructionRecord, pending: PendingInstruction | null): void {
    this.#store(pending === null ? record : { ...record, pending });
  }

  /** Approves a draft, or makes a draft of what was approved. */
  setStatus(
    { approval: _, pending: __, ...record }: InstructionRecord,
    status: InstructionStatus,
    approval: InstructionRecord['approval'],
    at: number,
  ): void {
    const changed: InstructionRecord = {
      ...record,
      instruction: { ...record.instruction, status },
      updatedAt: at,
      ...(approval !== undefined && { approval }),
    };
    this.#store(changed);
    for (const follower of this.#followers) follower.put(changed);
  }

  /** Removes an instruction and leaves a tombstone; the slot and what was learned about it stay. */
  remove({ pending: _, ...record }: InstructionRecord, at: number): void {
    this.#live--;
    const removed = { ...record, removedAt: at };
    this.#store(removed);
    for (const follower of this.#followers) follower.remove(removed);
  }

  /** Deletes a tombstone for good; its slot is free for another instruction. */
  expire({ instruction, slot }: InstructionRecord): void {
    this.#byId.delete(instruction.id);
    this.#safety.delete(instruction.id);
    this.#bySlot[slot] = undefined;
    this.#freeSlots.push(slot);
    this.#vectors.clear(slot);
  }

  log(change: InstructionChange): void {
    this.revision = change.revision;
    this.#changes.push(change);
    if (this.#changes.length > MAX_INSTRUCTION_CHANGES) this.#changes.shift();
  }

  /** Replaces all vectors by those of another embedder. */
  replaceVectors(dimensions: number, vectorOf: (record: InstructionRecord) => Float32Array | null): void {
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
  restore(record: InstructionRecord, vector: Float32Array | null): void {
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

  #store(record: InstructionRecord): void {
    const { id, kind, status } = record.instruction;
    this.#byId.set(id, record);
    this.#bySlot[record.slot] = record;
    if (kind === 'safety' && status === 'approved' && record.removedAt === null) this.#safety.add(id);
    else this.#safety.delete(id);
  }
}
