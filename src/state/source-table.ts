import type { Position } from '../ledger/entry.ts';
import type { SourceDefinition, SyncReport } from '../ledger/source-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';

/** A definition that waits for approval. */
export interface HeldTool {
  readonly tool: ToolDefinition;
  readonly hash: string;
  readonly nameThere?: string;
  readonly heldSince: number;
}

/** What is known of one source; times in ms since the epoch. */
export interface SourceRecord {
  readonly name: string;
  readonly definition: SourceDefinition;
  /** Position of the entry that defined it: what was read by another definition does not count. */
  readonly generation: Position;
  readonly addedAt: number;
  /** The newest sync by this definition that ended. */
  readonly attempt: { readonly startedAt: number; readonly at: number } | null;
  /** When it was last read with success. */
  readonly syncedAt: number | null;
  /** Why it failed; null: it did not. */
  readonly error: string | null;
  /** How many failed in a row. */
  readonly failures: number;
  /** When it is read next; null: when somebody asks for it. */
  readonly nextAt: number | null;
  /** What the newest sync that succeeded could not put. */
  readonly leftOut: SyncReport['leftOut'];
  readonly leftOutCount: number;
}

const FIRST_RETRY_MS = 30_000;
const LONGEST_RETRY_MS = 60 * 60 * 1000;
/** A source is not read more often because its list holds only for a moment. */
const SHORTEST_TTL_MS = 30_000;

/** The sources of a catalog by name, and the definitions that are held back. */
export class SourceTable {
  readonly #records = new Map<string, SourceRecord>();
  readonly #held = new Map<string, Map<string, HeldTool>>();

  get size(): number {
    return this.#records.size;
  }

  get(name: string): SourceRecord | undefined {
    return this.#records.get(name);
  }

  /** In the order in which they were put first. */
  all(): IterableIterator<SourceRecord> {
    return this.#records.values();
  }

  /** The definitions of a source that wait for approval, by name of the tool. */
  held(name: string): ReadonlyMap<string, HeldTool> {
    return this.#held.get(name) ?? new Map();
  }

  /** Defines a source, anew or for the first time. It is due at once, and how reading it by another definition went says nothing. */
  put(name: string, definition: SourceDefinition, generation: Position, at: number): void {
    const before = this.#records.get(name);
    this.#records.set(name, {
      ...{ syncedAt: null, leftOut: [], leftOutCount: 0, addedAt: at },
      ...before,
      ...{ attempt: null, error: null, failures: 0 },
      ...{ name, definition, generation, nextAt: at },
    });
  }

  remove(name: string): void {
    this.#records.delete(name);
    this.#held.delete(name);
  }

  /** Takes in a sync that succeeded. */
  succeeded(record: SourceRecord, at: number, { startedAt, ttlMs, leftOut, leftOutCount }: SyncReport): void {
    const { refreshSeconds } = record.definition;
    const waits = [
      ...(refreshSeconds === null ? [] : [refreshSeconds * 1000]),
      ...(ttlMs === undefined || ttlMs <= 0 ? [] : [Math.max(ttlMs, SHORTEST_TTL_MS)]),
    ];
    this.#records.set(record.name, {
      ...record,
      attempt: { startedAt, at },
      ...{ syncedAt: at, error: null, failures: 0, leftOut, leftOutCount },
      nextAt: waits.length === 0 ? null : at + Math.min(...waits),
    });
  }

  /** Takes in a sync that failed: the next one waits 30 s · 2^(n−1) after the n-th failure in a row, at most an hour. */
  failed(record: SourceRecord, at: number, startedAt: number, error: string): void {
    const failures = record.failures + 1;
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
    this.#records.set(record.name, {
      ...record,
      attempt: { startedAt, at },
      ...{ error, failures, nextAt: at + wait },
    });
  }

  /** Replaces the definitions of a source that wait for approval. What waited before goes on waiting since then. */
  hold(name: string, tools: readonly HeldTool[]): void {
    const before = this.held(name);
    const held = tools.map((one): [string, HeldTool] => {
      const same = before.get(one.tool.name);
      return [one.tool.name, same?.hash === one.hash ? same : one];
    });
    if (held.length === 0) this.#held.delete(name);
    else this.#held.set(name, new Map(held));
  }

  /** Exactly as a snapshot has it. */
  restore(record: SourceRecord): void {
    this.#records.set(record.name, record);
  }

  *saveHeld(): Generator<readonly [source: string, tool: HeldTool]> {
    for (const [source, tools] of this.#held) for (const tool of tools.values()) yield [source, tool];
  }

  restoreHeld(held: readonly (readonly [source: string, tool: HeldTool])[]): void {
    for (const [source, tool] of held) {
      const tools = this.#held.get(source) ?? new Map<string, HeldTool>();
      this.#held.set(source, tools.set(tool.tool.name, tool));
    }
  }
}
