import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { createPolicy, loadPolicy } from '../../bandit/policies/registry.ts';
import type { LearnerState, Policy } from '../../bandit/policy.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Assignment, BoundEmbedder } from '../ledger/entry.ts';

/** One learner of a catalog, with its settings and the model that it learned with. */
export interface LearnerVersion {
  /** `<policy>@<n>`; n counts the versions of this catalog. */
  readonly version: string;
  readonly settings: PolicySettings;
  readonly policy: Policy;
  readonly learning: Learning;
  /** The model about whose vectors it learned. It ranks and learns while the catalog has this model, and waits otherwise. */
  readonly embedder: BoundEmbedder;
}

/** A version as a snapshot keeps it. */
export type SavedVersion = Omit<LearnerVersion, 'policy'> & { readonly state: LearnerState };

/** All versions of a catalog as a snapshot keeps them. */
export interface SavedLearners {
  /** How many versions this catalog has had. */
  readonly created: number;
  readonly active: string;
  /** Versions that are in use (by experiments), and how often. */
  readonly uses: readonly (readonly [string, number])[];
  readonly versions: readonly SavedVersion[];
}

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

/** What every learner is created with. */
export interface LearnerContext {
  readonly kernels: Kernels;
  /** False in a process that only folds the canonical state (the snapshot writer): no A⁻¹, no θ. */
  readonly derived: boolean;
}

/** Creates and loads policies, and frees them with the memory that was allocated for them. */
export class PolicyLoader {
  readonly context: LearnerContext;
  /** Empty vectors of the right dimensions for the versions that wait; by version, the longest waiting first. */
  readonly #waiting = new Map<string, ToolVectors>();

  constructor(context: LearnerContext) {
    this.context = context;
  }

  /** Returns the versions that wait, the longest waiting first. */
  get waiting(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Creates a policy that has learned nothing. */
  create({ name, parameters }: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): Policy {
    const policy = createPolicy(name, { ...this.context, vectors, parameters });
    for (const slot of slots) policy.addTool(slot);
    return policy;
  }

  load({ name, parameters }: PolicySettings, state: LearnerState, vectors: ToolVectors): Policy {
    return loadPolicy(name, { ...this.context, vectors, parameters }, state);
  }

  /** Loads a policy that waits: it cannot rank, because the vectors of its embedder are gone. */
  loadWaiting({ version, settings, embedder }: Omit<LearnerVersion, 'policy'>, state: LearnerState): Policy {
    const { kernels } = this.context;
    const vectors = new ToolVectors(kernels, embedder.dimensions);
    this.#waiting.set(version, vectors);
    const { name, parameters } = settings;
    return loadPolicy(name, { kernels, derived: false, vectors, parameters }, state);
  }

  free({ version, policy }: LearnerVersion): void {
    policy.free();
    this.#waiting.get(version)?.free();
    this.#waiting.delete(version);
  }
}

/** Returns a copy of a policy's state. The arrays of `save` may still belong to the policy. */
export function copyOf(policy: Policy): LearnerState {
  const { arrays, ...rest } = policy.save();
  const copies = Object.entries(arrays).map(([name, array]) => [name, array.slice()] as const);
  return { ...rest, arrays: Object.fromEntries(copies) };
}
