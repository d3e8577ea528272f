import type { Position } from '../ledger/entry.ts';
import type { LookAlike, MergeRunOpen, MergeRunProgress, MergeRunRequest } from '../ledger/merge-run.ts';

/** The newest run of a catalog; times in ms since the epoch. */
export interface MergeRun extends MergeRunProgress {
  readonly id: string;
  /** Position of the entry that asked for it. */
  readonly position: Position;
  readonly request: MergeRunRequest;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly proposals: number;
  readonly askedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: string | null;
  /** What its judge left open; absent: nothing, or it has not ended. */
  readonly open?: MergeRunOpen;
  /** Position of the entry by which a process began to run it, the last one that did; null: none did. */
  readonly attempt: Position | null;
  /** Revision of the tools when that process began. */
  readonly revision: string | null;
  /** How often its process died while it ran. */
  readonly interruptions: number;
}

/** What the newest run that succeeded has compared. */
interface Compared extends Pick<MergeRunRequest, 'judge' | 'threshold'> {
  /** Revision of the tools when it began. */
  readonly revision: string;
  readonly fingerprint: string | null;
}

export interface SavedMergeRuns {
  readonly run: MergeRun | null;
  readonly compared: Compared | null;
  readonly lookAlikes: readonly LookAlike[];
}

/** The run of a catalog that looks for merges, and what the newest one that succeeded has compared. */
export class MergeRuns {
  run: MergeRun | null = null;
  /** Pairs that look alike and are not the same, by the newest run that succeeded. */
  lookAlikes: readonly LookAlike[] = [];
  #compared: Compared | null = null;

  /** Whether a run that succeeded has compared these tools, with these vectors and by the same judge and threshold. */
  covers({ judge, threshold }: MergeRunRequest, revision: string, fingerprint: string | null): boolean {
    const compared = this.#compared;
    return (
      compared?.revision === revision &&
      compared.fingerprint === fingerprint &&
      compared.judge === judge &&
      compared.threshold === threshold
    );
  }

  /** Takes in that all pairs were compared as they were when the run began. */
  succeeded({ request: { judge, threshold }, revision }: MergeRun, fingerprint: string | null): void {
    this.#compared = { judge, threshold, revision: revision!, fingerprint };
  }

  save(): SavedMergeRuns {
    return { run: this.run, compared: this.#compared, lookAlikes: this.lookAlikes };
  }

  restore({ run, compared, lookAlikes }: SavedMergeRuns): void {
    this.run = run;
    this.lookAlikes = lookAlikes;
    this.#compared = compared;
  }
}
