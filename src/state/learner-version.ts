import type { LearnerState, Policy } from '../../bandit/policy.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Assignment, BoundEmbedder } from '../ledger/entry.ts';

/** One learner of a catalog, with what makes it the one it is. */
export interface LearnerVersion {
  /** `<policy>@<n>`, n counts the versions of this catalog. */
  readonly version: string;
  readonly settings: PolicySettings;
  readonly policy: Policy;
  readonly learning: Learning;
  /** The model about whose vectors it learned. It ranks and learns while this is the catalog's, and waits otherwise. */
  readonly embedder: BoundEmbedder;
}

/** The same as a snapshot keeps it. */
export type SavedVersion = Omit<LearnerVersion, 'policy'> & { readonly state: LearnerState };

/** From which decisions a version learns: all, none, or those of one variant of an experiment. */
export type Learning = 'all' | 'none' | { readonly experiment: string; readonly variant: string };

export function learnsFrom(learning: Learning, assignments: readonly Assignment[]): boolean {
  if (learning === 'all' || learning === 'none') return learning === 'all';
  const { experiment, variant } = learning;
  return assignments.some((one) => one.experiment === experiment && one.variant === variant);
}

export function hasLearned({ policy }: LearnerVersion): boolean {
  const { updates, cases } = policy.sizeInBytes();
  return updates + cases > 0;
}

/** Equal for settings that learn the same from the same; exploration is no part of it. */
export function identityOf(settings: PolicySettings): string {
  return JSON.stringify([settings.name, Object.entries(settings.parameters).sort()]);
}
