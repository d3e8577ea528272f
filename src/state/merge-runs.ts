import type { Position } from '../ledger/entry.ts';
import type { MergeRunProgress, MergeRunRequest } from '../ledger/merge-run.ts';

/** The newest run of a catalog; times in ms since the epoch. */
export interface MergeRun extends MergeRunProgress {
  readonly id: string;
  readonly request: MergeRunRequest;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly proposals: number;
  readonly askedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: string | null;
  /** Of the process that runs it, or ran it last; null: none did. */
  readonly attempt: Position | null;
  /** How often its process died while it ran. */
  readonly interruptions: number;
}

/** What the newest run that succeeded went by: with anything else all pairs have to be compared again. */
type ComparedWith = Pick<MergeRunRequest, 'judge' | 'threshold'> & { readonly fingerprint: string | null };

export interface SavedMergeRuns {
  readonly run: MergeRun | null;
  readonly comparedWith: ComparedWith | null;
  readonly touched: readonly (readonly [slot: number, position: Position])[];
}

/** The run of a catalog that looks for merges, and what changed since one succeeded. */
export class MergeRuns {
  run: MergeRun | null = null;
  #comparedWith: ComparedWith | null = null;
  /** Tools that were put or changed since, by slot; nothing is noted before the first run has succeeded. */
  readonly #touched = new Map<number, Position>();

  /** Whether a run would find anything to compare that the newest one has not. */
  get isBehind(): boolean {
    return this.#comparedWith === null || this.#touched.size > 0;
  }

  /** Notes that a tool is new or another one. */
  touch(slot: number, position: Position): void {
    if (this.#comparedWith !== null) this.#touched.set(slot, position);
  }

  /** Returns the slots whose pairs have to be compared; null: all. */
  touchedFor({ judge, threshold, touched }: MergeRunRequest, fingerprint: string | null): number[] | null {
    const before = this.#comparedWith;
    const isSame =
      before?.judge === judge && before.threshold === threshold && before.fingerprint === fingerprint;
    return touched === 'changed' && isSame ? [...this.#touched.keys()] : null;
  }

  /** Takes in that all pairs were compared as they were when the run began. */
  succeeded({ request: { judge, threshold }, attempt }: MergeRun, fingerprint: string | null): void {
    this.#comparedWith = { judge, threshold, fingerprint };
    for (const [slot, position] of this.#touched) if (position < attempt!) this.#touched.delete(slot);
  }

  save(): SavedMergeRuns {
    return { run: this.run, comparedWith: this.#comparedWith, touched: [...this.#touched] };
  }

  restore({ run, comparedWith, touched }: SavedMergeRuns): void {
    this.run = run;
    this.#comparedWith = comparedWith;
    for (const [slot, position] of touched) this.#touched.set(slot, position);
  }
}
