import type { RewardContract } from '../ledger/catalog-settings.ts';
import type { ObservedDecision } from '../ledger/entry.ts';
import type { Credit } from './decision-credit.ts';
import type { RewardOutcome } from './outcome.ts';

/** What was reported about one tool of one decision so far. */
export interface ToolReports {
  count: number;
  sum: number;
  first: number;
  last: number;
  /** The tool was called and its outcome says something about relevance: it was learned with `taught`. */
  called: boolean;
  /** Reward that was learned, 0…1. */
  taught: number;
  /** Of the first report; later ones correct its value alone. */
  weight: number;
  /** Nothing is learned from it so far, not even that it was not called: a timeout, or its unit is over the limit. */
  silent: boolean;
}

/** What was reported about this tool; nothing yet if it is new to the record. */
export function reportsOf(record: ObservedRecord, tool: string): ToolReports {
  const known = record.tools.get(tool);
  if (known !== undefined) return known;
  const fresh = { count: 0, sum: 0, first: 0, last: 0, called: false, taught: 0, weight: 1, silent: false };
  record.tools.set(tool, fresh);
  return fresh;
}

/** The fold's record of a decision about which anything was reported. */
export interface ObservedRecord {
  readonly id: string;
  readonly deadline: number;
  /** When its window is over by the clock of the fold, whatever the clock was that made the decision. */
  readonly until: number;
  closed: boolean;
  /** Its unit went over the limit: nothing more is learned from this decision. */
  muted: boolean;
  readonly tools: Map<string, ToolReports>;
  /** Rewards that were applied: the exactly-once set, bounded by the window. */
  readonly rewards: Map<string, RewardOutcome>;
  /**
   * Extra features of the shown tools, row-major, for policy versions that did not take part in the decision: as
   * they were when the first report came, so that a correction meets the same x.
   */
  readonly features: Map<string, Float32Array>;
  /** Case that the decision went to, by policy version. */
  readonly cases: Map<string, number>;
  /** What experiments were credited with; absent for decisions in none. */
  credit?: Credit;
}

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

/** A record that ends later than this from now was made by a clock that was ahead. */
const LONGEST_WINDOW_MS = 7 * 24 * HOUR_MS;

/** Decisions with reports, in order of first report; bounded by window + grace. */
export class ObservedDecisions {
  readonly #records = new Map<string, ObservedRecord>();
  /**
   * The latest deadline of a record that was dropped. A decision with a later one never lost its record, however
   * wrong the clocks were: what is reported about it cannot have been applied before.
   */
  droppedThrough = 0;

  get size(): number {
    return this.#records.size;
  }

  get(id: string): ObservedRecord | undefined {
    return this.#records.get(id);
  }

  /** @param clock of the fold */
  open(decision: ObservedDecision, clock: number): ObservedRecord {
    const known = this.#records.get(decision.id);
    if (known !== undefined) return known;
    const record: ObservedRecord = {
      id: decision.id,
      deadline: decision.deadline,
      until: Math.max(decision.deadline, clock + decision.deadline - decision.at),
      closed: false,
      muted: false,
      tools: new Map(),
      rewards: new Map(),
      features: new Map(),
      cases: new Map(),
    };
    this.#records.set(decision.id, record);
    return record;
  }

  /** Whether there may have been a record of this decision, so that applying anything could apply it twice. */
  mayBeDropped(decision: Pick<ObservedDecision, 'id' | 'deadline'>): boolean {
    return decision.deadline <= this.droppedThrough && !this.#records.has(decision.id);
  }

  /** Drops what can no longer change. Records are near enough in order of their ends for this to stay cheap. */
  expire(clock: number, graceMs: number): void {
    for (const [id, { until, deadline }] of this.#records) {
      if (until > clock + LONGEST_WINDOW_MS) continue;
      if (until + graceMs >= clock) return;
      this.#records.delete(id);
      this.droppedThrough = Math.max(this.droppedThrough, deadline);
    }
  }

  records(): IterableIterator<ObservedRecord> {
    return this.#records.values();
  }

  restore(record: ObservedRecord): void {
    this.#records.set(record.id, record);
  }

  /** Everything that was reported refers to another embedder now. */
  clear(): void {
    this.#records.clear();
  }
}
