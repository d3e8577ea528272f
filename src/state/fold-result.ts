import type { Outcome } from '../ledger/entry.ts';
import type { MergeRun } from './merge-runs.ts';

/** What the fold decided about an entry; `Replica.submit` returns it. */
export type FoldResult =
  | ToolsResult
  | InstructionsResult
  | SourceResult
  | MergeRunResult
  | MergesResult
  | { readonly kind: 'settings'; readonly policyVersion: string }
  | SettingsRefused
  | EmbedderResult
  | { readonly kind: 'observation'; readonly rewards: readonly RewardOutcome[] }
  | { readonly kind: 'settlement'; readonly closed: boolean }
  | { readonly kind: 'discovery'; readonly counted: boolean }
  /** `known`: they were taught before, or all of their tools are gone. */
  | { readonly kind: 'cases'; readonly taught: number; readonly known: number }
  /** The catalog has another embedder than the sender read. */
  | { readonly kind: 'cases-refused'; readonly reason: 'stale' }
  | { readonly kind: 'forget'; readonly forgotten: number }
  | ExperimentResult
  | { readonly kind: 'exposures' }
  | { readonly kind: 'unlearned' }
  | { readonly kind: 'version'; readonly policyVersion: string }
  | { readonly kind: 'version-unknown' }
  /** Something was learned after the entry's learner was made: it has to be made again. */
  | { readonly kind: 'version-stale' }
  /** The key was used for another command. */
  | { readonly kind: 'key-used' }
  | { readonly kind: 'ignored' };

export type SettingsRefused =
  /** The policy has another name than its sender read: that of `policy`. */
  | { readonly kind: 'settings-refused'; readonly reason: 'policy'; readonly policy: string }
  /** The embedder changed after the rules of its domains were made. */
  | { readonly kind: 'settings-refused'; readonly reason: 'stale' }
  /** The pin of this tool would be for a domain that there is not. */
  | {
      readonly kind: 'settings-refused';
      readonly reason: 'domain';
      readonly tool: string;
      readonly domain: string;
    };

export type ToolsResult =
  | ToolsApplied
  /** If-Match named another revision. */
  | { readonly kind: 'tools-refused'; readonly reason: 'revision'; readonly revision: string }
  /** The catalog or its embedder changed after the sender read it: it has to read again and send again. */
  | { readonly kind: 'tools-refused'; readonly reason: 'stale'; readonly revision: string }
  /** The source was removed or defined anew after it was read. */
  | { readonly kind: 'tools-refused'; readonly reason: 'gone'; readonly revision: string }
  /** These tools belong to other sources. */
  | {
      readonly kind: 'tools-refused';
      readonly reason: 'source';
      readonly owners: readonly { readonly tool: string; readonly source: string }[];
    };

export interface ToolsApplied {
  readonly kind: 'tools';
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly revision: string;
}

export type InstructionsResult =
  | InstructionsApplied
  /** `revision`: If-Match named another one. `stale`: something changed after its sender read it. */
  | {
      readonly kind: 'instructions-refused';
      readonly reason: 'revision' | 'stale';
      readonly revision: string;
    }
  /** There would be no instructions with the ids that these include. */
  | {
      readonly kind: 'instructions-refused';
      readonly reason: 'includes';
      readonly dangling: readonly { readonly id: string; readonly include: string }[];
    }
  /** Each of these would include the next, and the last the first. */
  | {
      readonly kind: 'instructions-refused';
      readonly reason: 'circle';
      readonly circle: readonly string[];
    }
  /** Each of these would bring more than `MAX_INCLUDED` others with it. */
  | {
      readonly kind: 'instructions-refused';
      readonly reason: 'too-many-included';
      readonly ids: readonly string[];
    };

/** One that is new and approved at once counts as both. */
export interface InstructionsApplied {
  readonly kind: 'instructions';
  readonly added: number;
  readonly changed: number;
  readonly approved: number;
  /** Were approved, and are drafts again. */
  readonly withdrawn: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly revision: string;
}

export type SourceResult =
  | { readonly kind: 'source'; readonly added: boolean }
  /** `unknown`: it was removed, or defined anew after it was read. */
  | { readonly kind: 'source-refused'; readonly reason: 'unknown' | 'too-many' };

export type MergeRunResult =
  /** `isNew`: it was begun by this entry, and is none that was under way. */
  | { readonly kind: 'merge-run'; readonly run: MergeRun; readonly isNew: boolean }
  /** The run is over, or another process has taken it. */
  | { readonly kind: 'merge-run-refused' };
export type MergesResult =
  /** Of a proposal: how many are proposed now, how many were not taken (they are decided, or their tools changed), and how many went. */
  | {
      readonly kind: 'merges';
      readonly proposed: number;
      readonly ignored: number;
      readonly withdrawn: number;
    }
  /** If-Match named another revision of the tools. */
  | { readonly kind: 'merges-refused'; readonly reason: 'revision'; readonly revision: string }
  /** The sentence is for the person who asked. */
  | { readonly kind: 'merges-refused'; readonly reason: MergeRefusal; readonly sentence: string };

/**
 * Why a merge is not approved, rejected or undone. `stale`: it was prepared from another definition
 * or for another embedder, and has to be prepared again; `changed`: a member
 * is not what it was; `merged`: a member is in another approved merge; `guarded`: a person has to decide.
 */
export type MergeRefusal = 'unknown' | 'status' | 'guarded' | 'changed' | 'merged' | 'stale';

export type EmbedderResult =
  /** `kept`: version that was active before and waits for its embedder; null if there was nothing to keep. */
  | { readonly kind: 'embedder'; readonly policyVersion: string; readonly kept: string | null }
  /**
   * The catalog has a model already (`bound`), tools, instructions or domains were put or changed after the sender read them (`stale`), or the requested
   * version is not kept any more (`version`).
   */
  | { readonly kind: 'embedder-refused'; readonly reason: 'bound' | 'stale' | 'version' };

/** In the order in which snapshots number them. */
export const REWARD_STATUSES = ['applied', 'duplicate', 'late', 'rejected'] as const;
export type RewardStatus = (typeof REWARD_STATUSES)[number];

export interface RewardOutcome {
  readonly rewardId: string;
  readonly status: RewardStatus;
  /** Why it was not learned, or only in part. */
  readonly reason?: RewardReason;
}

/** A reward as its decision's record keeps it: what became of it, and what it said. */
export interface KeptReward extends RewardOutcome {
  /** Null: it was about the decision as a whole. */
  readonly tool: string | null;
  readonly outcome: Outcome;
}

/** In the order in which snapshots number them; 15 at most. */
export const REWARD_REASONS = [
  'after-deadline',
  /** The record of its decision was dropped, so that it is not known whether the reward was applied before. */
  'record-expired',
  /** Its decision was deleted from the decision log before the two were joined. */
  'decision-expired',
  'embedder-changed',
  'tool-unknown',
  'tool-not-shown',
  'outcome-teaches-nothing',
  'learning-off',
  'unit-limit',
  'no-tool-named',
  'superseded',
] as const;
export type RewardReason = (typeof REWARD_REASONS)[number];

export type ExperimentResult =
  | {
      readonly kind: 'experiment';
      /** Basis points of the units that changed their variant. */
      readonly moved: number;
    }
  | { readonly kind: 'experiment-refused'; readonly reason: ExperimentRefusal; readonly sentence: string };

/** Why an experiment was not created or moved. */
export type ExperimentRefusal =
  | 'exists'
  | 'unknown'
  | 'too-many'
  | 'status'
  | 'overlap'
  | 'shares'
  | 'variant'
  | 'start'
  | 'same'
  | 'sample-ratio'
  | 'no-winner';

export function refused(reason: ExperimentRefusal, sentence: string): ExperimentResult {
  return { kind: 'experiment-refused', reason, sentence };
}
