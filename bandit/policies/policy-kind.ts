import type { Kernels } from '../kernels/kernels.ts';
import type { LearnerState, Policy } from '../policy.ts';
import type { ToolVectors } from '../tool-vectors.ts';

/** A parameter of a policy. */
export interface PolicyParameter {
  readonly name: string;
  readonly default: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly integer?: boolean;
  /** One sentence for users. */
  readonly sentence: string;
}

/** The parts that a policy is created with. */
export interface PolicyContext {
  readonly kernels: Kernels;
  /** Vectors of the tools, shared with the fold that writes them; they also say how many dimensions there are. */
  readonly vectors: ToolVectors;
  /** Parameters by name; the ones that are missing have their defaults. */
  readonly parameters: Readonly<Record<string, number>>;
  /** False in a process that only folds canonical state: nothing derived (A⁻¹, θ) is kept, `rank` throws. */
  readonly derived: boolean;
}

/** One entry of the registry. In `create` and `load` every parameter is present and within its range. */
export interface PolicyKind {
  readonly name: string;
  readonly sentence: string;
  readonly parameters: readonly PolicyParameter[];
  /** Whether outcomes change how it ranks. */
  readonly learns: boolean;
  /** How slates are drawn if the catalog does not set it; `greedy` for policies with a fixed order. */
  readonly defaultExploration: 'plackett-luce' | 'ucb' | 'greedy';
  create(context: PolicyContext): Policy;
  /** Loads a learner that was saved with the same parameters. */
  load(context: PolicyContext, state: LearnerState): Policy;
}

/** Thrown for a policy or parameter that does not exist, or a value out of range; the message lists the valid ones. */
export class PolicySettingsError extends Error {
  override readonly name = 'PolicySettingsError';
  /** Sentences that say what is valid. */
  readonly suggestedFix: string;
  /** The parameter that does not exist or is out of range; null: the policy does not exist. */
  readonly parameter: string | null;

  constructor(message: string, suggestedFix: string, parameter: string | null = null) {
    super(message);
    this.suggestedFix = suggestedFix;
    this.parameter = parameter;
  }
}
