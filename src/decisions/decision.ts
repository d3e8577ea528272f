import type { PropensityMethod } from '../../bandit/exploration/propensities.ts';
import type { QueryFeatures } from '../../bandit/policy.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import type { Assignment, Position } from '../ledger/entry.ts';

/** Shapes in which an agent can get definitions; `names`: it gets none. */
export const SLATE_FORMATS = [
  ...(['mcp', 'openai', 'openai-responses', 'openai-tool-search-output'] as const),
  ...(['anthropic', 'anthropic-tool-reference', 'anthropic-tool-addition', 'names'] as const),
] as const;
export type SlateFormat = (typeof SLATE_FORMATS)[number];

/** Everything about one decision that explaining, learning and off-policy evaluation need later. */
export interface Decision {
  readonly id: string;
  readonly catalog: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly deadline: number;
  readonly revision: string;
  /** Ledger position of the state that decided. */
  readonly position: Position;
  readonly policy: DecisionPolicy;
  readonly fingerprint: string | null;
  readonly query: QueryFeatures;
  /** The query's text, only if the catalog keeps texts. */
  readonly text?: string;
  /** How the query was taken apart; absent: it was not. */
  readonly split?: DecisionSplit;
  /** Whether a closer look was taken at the candidates; absent: the catalog wants none. */
  readonly rerank?: DecisionRerank;
  readonly exploration: 'plackett-luce' | 'ucb' | 'greedy';
  readonly temperature: number;
  /** Where the propensities come from: a formula, or a slate that was not drawn. */
  readonly propensityMethod: PropensityMethod;
  readonly k: number;
  /** The shape of the definitions in its answer, and how much of each there was. */
  readonly format: SlateFormat;
  readonly detail: DetailLevel;
  /** What every shown tool is learned with when nothing is reported, −1…1; absent: nothing is learned then. */
  readonly defaultReward?: number;
  /** False: its outcomes teach nothing. */
  readonly learn: boolean;
  readonly fallback: Fallback | null;
  /** Natural log of the probability of exactly this ordered slate, pins left out. */
  readonly logProbability: number;
  /** The slate reached its caller with `activate: later`: rewards count only once it was activated. */
  readonly activation: 'now' | 'later';
  /** Key of the user, else the unit, else the session it was made for; absent: the request named none. */
  readonly unit?: string;
  /** Key of the task it was made in; absent: the request named none, and it stands alone. */
  readonly task?: string;
  /** Digest of the request that named an Idempotency-Key, which is taken for no other; absent: it named none. */
  readonly request?: string;
  /** Candidate tools by name, in order of their retrieval score. */
  readonly candidates: readonly string[];
  /** Indices into `candidates`, in slate order. */
  readonly slate: readonly number[];
  /** Why each tool of the slate is there, and the hash of the definition that was returned; in slate order. */
  readonly reasons: readonly SlateReason[];
  readonly hashes: readonly string[];
  /** One value per candidate in every column. */
  readonly columns: DecisionColumns;
  /** Names of the policy's extra features. */
  readonly extras: readonly string[];
  /** Extra features per policy version that may learn from this decision, row-major candidates × extras. */
  readonly features: Readonly<Record<string, Float32Array>>;
  /** When the slate was shown, as far as is known; null: `activate` has not been called yet. */
  readonly activatedAt: number | null;
  /** What the request asked for and could not get, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** Experiments it took part in; absent for none. */
  readonly assignments?: readonly Assignment[];
}

/** Who decided. */
export interface DecisionPolicy {
  readonly name: string;
  readonly version: string;
  /** Both or neither. */
  readonly experiment?: string;
  readonly variant?: string;
}

export interface DecisionSplit {
  readonly by: 'clauses' | 'llm';
  /** How many sub-queries were searched for beside the whole; 0: the query asks for one thing. */
  readonly parts: number;
  /** Why another splitter than the catalog's did it; null: it did it itself. */
  readonly fallback: string | null;
  /** The sub-queries, only if the catalog keeps texts. */
  readonly texts?: readonly string[];
}

export interface DecisionRerank {
  /** Name of the reranker. */
  readonly by: string;
  /** Why the fused order stood; null: it did not. */
  readonly fallback: string | null;
}

/** Why a tool is in the slate. */
export type SlateReason = 'retrieved' | 'remembered' | 'explored' | 'pinned';

/** Why a slate is not the usual ranking. */
export const FALLBACKS = ['low_confidence', 'embedder_down', 'kill_switch'] as const;
export type Fallback = (typeof FALLBACKS)[number];

export interface DecisionColumns {
  readonly score: Float32Array;
  readonly mean: Float32Array;
  readonly base: Float32Array;
  readonly gain: Float32Array;
  readonly uncertainty: Float32Array;
  readonly bonus: Float32Array;
  readonly trials: Float32Array;
  readonly propensity: Float32Array;
  readonly similarity: Float32Array;
  /** h, c and g of retrieval. */
  readonly lexical: Float32Array;
  readonly dense: Float32Array;
  readonly retrieval: Float32Array;
}

/** The part of a decision that taking rewards needs: a thirtieth of the whole record. */
export interface DecisionHead
  extends Pick<Decision, 'id' | 'catalog' | 'at' | 'deadline' | 'activatedAt' | 'task'> {
  /** Names of the tools in its slate. */
  readonly shown: readonly string[];
}

export function headOf({
  id,
  catalog,
  at,
  deadline,
  activatedAt,
  task,
  slate,
  candidates,
}: Decision): DecisionHead {
  const shown = slate.map((index) => candidates[index]);
  return { id, catalog, at, deadline, activatedAt, ...(task !== undefined && { task }), shown };
}

/** Returns until when rewards of a decision are learned, ms since the epoch. The window begins when the slate was shown. */
export function rewardDeadline(decision: Pick<Decision, 'deadline' | 'at' | 'activatedAt'>): number {
  return decision.deadline - decision.at + (decision.activatedAt ?? decision.at);
}
