import type { CatalogSettings, DetailLevel, PolicySettings } from './catalog-settings.ts';

/** What an experiment is. Nothing of it changes after the start but the shares. */
export interface ExperimentDefinition {
  readonly name: string;
  readonly unit: ExperimentUnit;
  readonly variants: readonly VariantDefinition[];
  /** The variant that the others are compared with. */
  readonly against: string;
  /** Tells its shuffle of the units from every other experiment's. */
  readonly salt: string;
  /** Experiments of one layer divide its units and never share one. */
  readonly layer: string;
  /** How much of its layer it takes, in basis points. */
  readonly traffic: number;
  /** Only requests whose context has, for every key, one of these values. */
  readonly target: Readonly<Record<string, readonly ContextValue[]>>;
  /** What decides. */
  readonly metric: Metric;
  /** A variant wins when it is surely better by more than this, ≥ 0. */
  readonly minimumLift: number;
  /** Probability of ever calling equal variants different. */
  readonly alpha: number;
  /** Units of two variants together at which the intervals are narrowest for their size. */
  readonly tightestAt: number;
  readonly guardrails: readonly ExperimentGuardrail[];
  /** Shares are raised and the winner is promoted automatically; null: by hand. */
  readonly automatic: AutomaticPromotion | null;
}

/** What is assigned: the session, user or unit that the request names, or every decision for itself. */
export type ExperimentUnit = 'sessionId' | 'userId' | 'unitId' | 'decision';

export type ContextValue = string | number | boolean;

export interface VariantDefinition {
  readonly name: string;
  /** Basis points of the experiment's units; 0 for shadows. */
  readonly share: number;
  /** Null until the start: the policy of the catalog at the start. */
  readonly policy: PolicySettings | null;
  readonly mode: VariantMode;
  /** `own`: from decisions of this variant alone. */
  readonly learnsFrom: 'all' | 'own';
  /** `kept`: whatever version with these settings there is. `champion`: a copy of the active one. */
  readonly startsFrom: 'kept' | 'champion' | 'cold';
  /**
   * How much of each definition it serves; null: as the catalog sets it, at the start if another variant has a level, else at
   * any time. Shadows, which serve no requests, have null.
   */
  readonly detail: DetailLevel | null;
}

/**
 * live: ranks, serves and learns. shadow: ranks what others serve, after the answer was sent. apprentice: retrieval
 * order is served, and it learns from that. freeze: ranks and serves, but does not learn.
 */
export type VariantMode = 'live' | 'shadow' | 'apprentice' | 'freeze';

/**
 * reward: sum of a decision's rewards, over the decisions for which anything was reported. success: whether any of
 * them was above 0. latencyMs, cost: their sums, over the decisions that have them. rewardPerDecision: like reward,
 * over all decisions that were shown; silence counts as 0. tokens: of the definitions as they were sent,
 * estimated, over the decisions that were shown.
 */
export const METRICS = ['reward', 'success', 'latencyMs', 'cost', 'rewardPerDecision', 'tokens'] as const;
export type Metric = (typeof METRICS)[number];

export interface ExperimentGuardrail {
  readonly metric: Metric;
  readonly harm: 'rise' | 'fall';
  /** ≥ 0, in the metric's own unit of measure. */
  readonly tolerance: number;
}

/** The challenger gets 10 %, then 50 %, then everything: as soon as both hold at each step. */
export interface AutomaticPromotion {
  readonly minimumUnits: number;
  readonly minimumHours: number;
}

export type ExperimentChange =
  | { readonly action: 'create'; readonly definition: ExperimentDefinition }
  | { readonly action: 'start' }
  | { readonly action: 'stop' }
  /** Without a variant: the one that won. */
  | { readonly action: 'promote'; readonly variant: string | null }
  /** Basis points by variant; they move as few units as possible. */
  | { readonly action: 'shares'; readonly shares: Readonly<Record<string, number>> }
  /** Retrieval order from now on, for one variant or (null) for all. */
  | { readonly action: 'kill'; readonly variant: string | null };

/** A variant of an experiment that was started: its policy is known. */
export type StartedVariant = VariantDefinition & { readonly policy: PolicySettings };
export interface StartedDefinition extends ExperimentDefinition {
  readonly variants: readonly StartedVariant[];
}

/** Returns the definition with the settings of the catalog for what its variants leave open. */
export function startedDefinition(
  definition: ExperimentDefinition,
  { policy, detail }: Pick<CatalogSettings, 'policy' | 'detail'>,
): StartedDefinition {
  // Where levels are compared, a change of the catalog's level must not change a variant.
  const unsaid = definition.variants.some((variant) => variant.detail !== null) ? detail : null;
  const variants = definition.variants.map((variant) => ({
    ...variant,
    policy: variant.policy ?? policy,
    detail: variant.mode === 'shadow' ? null : (variant.detail ?? unsaid),
  }));
  return { ...definition, variants };
}

/** Returns whether the variants that serve differ in how much of each definition they serve. */
export function comparesDetail({ variants }: ExperimentDefinition): boolean {
  const serving = variants.filter(({ mode }) => mode !== 'shadow');
  return new Set(serving.map(({ detail }) => detail)).size > 1;
}

/** Smaller is better for these. */
export function isHarmful(metric: Metric): boolean {
  return metric === 'latencyMs' || metric === 'cost' || metric === 'tokens';
}
