import { savedArray } from '../learner-codec.ts';
import type {
  Example,
  LearnerSize,
  LearnerState,
  QueryFeatures,
  Ranking,
  RankingRequest,
} from '../policy.ts';
import type { Ridge } from '../ridge/ridge.ts';
import { SemanticRidge, type SemanticRow } from '../ridge/semantic-ridge.ts';
import { checkExample } from './checks.ts';
import type { PolicyContext, PolicyKind, PolicyParameter } from './policy-kind.ts';
import { WithoutMemory } from './without-memory.ts';

/** Parameters of the policies over the paper's features. */
export const SEMANTIC_PARAMETERS: readonly PolicyParameter[] = [
  { name: 'alpha', default: 0.5, minimum: 0, maximum: 10, sentence: 'α: weight of the uncertainty.' },
  {
    name: 'lambda',
    default: 1,
    minimum: 1e-3,
    maximum: 1e3,
    sentence: 'λ: how strongly weights are held at θ₀.',
  },
  {
    name: 'prior',
    default: 0.4,
    minimum: 0,
    maximum: 10,
    sentence: 'Weight of the similarity before anything was learned; above 0, day 0 ranks by cosine.',
  },
];

/**
 * Base of the policies over the paper's features x = [e(q); φ; e(q)·φ; 1]: one ridge, no memory (Müller, Semantic Context for
 * Tool Orchestration, section 3.1). They differ in what they add to the mean.
 */
export abstract class SemanticPolicy extends WithoutMemory {
  protected readonly context: PolicyContext;
  protected readonly ridge: SemanticRidge;

  constructor(context: PolicyContext, state?: LearnerState) {
    super();
    this.context = context;
    const { kernels, vectors, parameters, derived } = context;
    const options = {
      kernels,
      vectors,
      extras: 0,
      lambda: parameters.lambda,
      prior: [parameters.prior, 0],
      derived,
    };
    this.ridge =
      state === undefined ? new SemanticRidge(options) : SemanticRidge.load(options, savedRidge(state));
  }

  /** Returns what is added to the mean of each candidate, given √(xᵀA⁻¹x). */
  protected abstract bonus(request: RankingRequest, uncertainty: Float64Array): Float64Array;

  rank(request: RankingRequest): Ranking {
    const { slots, similarity } = request.candidates;
    const scores = this.ridge.score(request.query.embedding, slots, similarity, new Float32Array(0));
    const bonus = this.bonus(request, scores.uncertainty);
    const score = new Float64Array(slots.length);
    for (let i = 0; i < score.length; i++) score[i] = scores.mean[i] + bonus[i];
    return {
      ...scores,
      score,
      bonus,
      trials: new Float64Array(slots.length),
      features: new Float32Array(0),
    };
  }

  learn(example: Example, reward: number, weight: number): void {
    checkExample(example, 0, reward, weight);
    this.ridge.learn(rowOf(example), reward, weight);
  }

  correct(example: Example, from: number, to: number, weight: number): void {
    checkExample(example, 0, from, weight);
    checkExample(example, 0, to, weight);
    this.ridge.correct(rowOf(example), from, to, weight);
  }

  override freeze(): void {
    this.ridge.freeze();
  }

  override prepare(queries: readonly QueryFeatures[]): void {
    this.ridge.prepare(embeddingsOf(queries));
  }

  save(): LearnerState {
    const { updates, matrix, target } = this.ridge.save();
    return { policy: this.name, numbers: { updates }, arrays: { matrix, target } };
  }

  sizeInBytes(): LearnerSize {
    const { updates } = this.ridge.ridge.statistics;
    const { sizeInBytes: matrices, formsInBytes: perTool } = this.ridge;
    return { matrices, perTool, memory: 0, cases: 0, updates };
  }

  override ridges(): readonly Ridge[] {
    return [this.ridge.ridge];
  }

  free(): void {
    this.ridge.free();
  }
}

/** The ridge's row of an example whose extras are all features. */
export function rowOf({ query, slot, similarity, extras }: Example): SemanticRow {
  return { embedding: query.embedding, slot, similarity, extras };
}

/** Returns A and b of a saved learner. */
export function savedRidge(state: LearnerState): {
  updates: number;
  matrix: Float64Array;
  target: Float64Array;
} {
  return {
    updates: state.numbers.updates,
    matrix: savedArray(state.arrays, 'matrix', Float64Array),
    target: savedArray(state.arrays, 'target', Float64Array),
  };
}

/** Returns the embeddings of the queries that have one. */
export function embeddingsOf(queries: readonly QueryFeatures[]): Float32Array[] {
  return queries.map(({ embedding }) => embedding).filter((embedding) => embedding !== null);
}

export const SC_LINUCB: PolicyKind = {
  name: 'sc-linucb',
  sentence:
    'The paper’s SC-LinUCB: one linear model of query, description and their similarity for all tools.',
  parameters: SEMANTIC_PARAMETERS,
  learns: true,
  defaultExploration: 'ucb',
  create: (context) => new ScLinUcb(context),
  load: (context, state) => new ScLinUcb(context, state),
};

/**
 * Algorithm 3 of the paper: score θᵀx + α·√(xᵀA⁻¹x). With one θ for all tools, e(q) and the bias are the same for every
 * candidate, so it learns only which descriptions do well for all queries. It needs few observations, which suits catalogs
 * with few and new tools.
 */
class ScLinUcb extends SemanticPolicy {
  readonly name = 'sc-linucb';

  protected bonus(_request: RankingRequest, uncertainty: Float64Array): Float64Array {
    const { alpha } = this.context.parameters;
    const bonus = new Float64Array(uncertainty.length);
    for (let i = 0; i < bonus.length; i++) bonus[i] = alpha * uncertainty[i];
    return bonus;
  }
}
