import type { InstructionDefinition, InstructionStatus } from '../ledger/instruction-definition.ts';
import { RecordTable, type SlotRecord } from './record-table.ts';

export interface InstructionRecord extends SlotRecord {
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

/** Keeps the instructions of one catalog, live ones (drafts among them) and tombstones, and the log of their changes. */
export class InstructionTable extends RecordTable<InstructionRecord> {
  /** Changes whenever an instruction changes; the revision of the tools is another one. */
  revision = 'i0';
  readonly #changes: InstructionChange[] = [];
  /** Ids of approved instructions of kind `safety`, in no particular order: every route with instructions asks for them. */
  readonly #safety = new Set<string>();
  /** What comes with each, as far as it was asked for since the last change: every route asks for the same ones. */
  readonly #included = new Map<InstructionRecord, readonly InstructionRecord[]>();

  protected idOf({ instruction }: InstructionRecord): string {
    return instruction.id;
  }

  /** Returns the live approved instructions of kind `safety`, in no particular order. */
  safety(): readonly InstructionRecord[] {
    return [...this.#safety].map((id) => this.find(id)!);
  }

  /**
   * Returns what comes with an instruction: everything approved that it includes, and what that includes; without itself. At most
   * `MAX_INCLUDED` records, since the fold refuses more.
   */
  includedBy(record: InstructionRecord): readonly InstructionRecord[] {
    const { includes = [] } = record.instruction;
    if (includes.length === 0) return [];
    let included = this.#included.get(record);
    if (included === undefined) {
      const found = new Set([record]);
      for (const { instruction } of found) {
        for (const id of instruction.includes ?? []) {
          const one = this.get(id);
          if (one?.instruction.status === 'approved') found.add(one);
        }
      }
      found.delete(record);
      included = [...found];
      this.#included.set(record, included);
    }
    return included;
  }

  /** Changes of the instructions, oldest first. */
  changes(): readonly InstructionChange[] {
    return this.#changes;
  }

  /** Adds an instruction, makes a removed one live again, or replaces what is served of one. */
  put(
    instruction: InstructionDefinition,
    { hash, embedding }: { readonly hash: string; readonly embedding: Float32Array | null },
    approval: InstructionRecord['approval'],
    at: number,
  ): InstructionRecord {
    const before = this.find(instruction.id);
    const record: InstructionRecord = {
      slot: before?.slot ?? this.takeSlot(),
      instruction,
      hash,
      addedAt: before?.addedAt ?? at,
      updatedAt: at,
      ...(approval !== undefined && { approval }),
      removedAt: null,
    };
    this.vectors.put(record.slot, embedding);
    this.change(record);
    return record;
  }

  /** Keeps a change of an approved instruction until it is approved; null: the one before stands. */
  hold({ pending: _, ...record }: InstructionRecord, pending: PendingInstruction | null): void {
    this.store(pending === null ? record : { ...record, pending });
  }

  /** Approves a draft, or makes a draft of what was approved. */
  setStatus(
    { approval: _, pending: __, ...record }: InstructionRecord,
    status: InstructionStatus,
    approval: InstructionRecord['approval'],
    at: number,
  ): void {
    this.change({
      ...record,
      instruction: { ...record.instruction, status },
      updatedAt: at,
      ...(approval !== undefined && { approval }),
    });
  }

  /** As for tools; a change that waits for approval goes with it. */
  override remove({ pending: _, ...record }: InstructionRecord, at: number): void {
    super.remove(record, at);
  }

  log(change: InstructionChange): void {
    this.revision = change.revision;
    this.#changes.push(change);
    if (this.#changes.length > MAX_INSTRUCTION_CHANGES) this.#changes.shift();
  }

  protected override store(record: InstructionRecord): void {
    super.store(record);
    this.#included.clear();
    const { id, kind, status } = record.instruction;
    if (kind === 'safety' && status === 'approved' && record.removedAt === null) this.#safety.add(id);
    else this.#safety.delete(id);
  }
}
