import { float64Columns } from '../columns.ts';
import { completed } from '../learner-codec.ts';
import { OutcomeMemory } from '../memory/outcome-memory.ts';
import type {
  Candidates,
  CaseCount,
  CaseOutcome,
  Example,
  LearnerSize,
  LearnerState,
  Policy,
  QueryFeatures,
  Ranking,
  RankingRequest,
  Recall,
  TermShare,
} from '../policy.ts';
import { PROJECTION_SEED } from '../ridge/projection.ts';
import type { Ridge } from '../ridge/ridge.ts';
import { SemanticRidge, type SemanticRow } from '../ridge/semantic-ridge.ts';
import { formOf } from '../shared-query.ts';
import { SlotRows } from '../slot-rows.ts';
import { TaughtVectors } from '../taught/taught-vectors.ts';
import { CallCounts } from './call-counts.ts';
import { checkExample } from './checks.ts';
import { MEMORY_FEATURES, type MemoryFeatures, memoryFeatures } from './memory-features.ts';
import type { PolicyContext, PolicyKind, PolicyParameter } from './policy-kind.ts';
import { embeddingsOf, savedRidge } from './sc-linucb.ts';

const NAME = 'sc-linucb-memory';
/** λ: how strongly the weights are held at θ₀, in observations. */
const LAMBDA = 10;
/** θ₀ over MEMORY_FEATURES: h, c, mx, vote, rho, rate, taught; it is 0 everywhere else. */
const THETA_0 = [0.3, 0.3, 0.3, 0.5, 0.3, 0, 0];
/**
 * Features that are evidence for a tool: mx, vote, rho, taught. Where every query is new, the tools that were called are
 * those that are not called again, and the ridge learns to hold evidence against them; when queries come back, that is
 * wrong all at once. See docs/decisions/2026-11-22-evidence-never-counts-against.md.
 */
const EVIDENCE = (['mx', 'vote', 'rho', 'taught'] as const).map((name) => MEMORY_FEATURES.indexOf(name));
/** Most that it is worth to try a tool, however much it was taught. */
const MOST_PROMISE = 1.5;
/** Least cosine between the old and the new vector of a tool from which it is the same one; below, it is half another tool. */
export const SAME_TOOL_FROM = 0.8;
/** Share of what was learned that a tool keeps whose new description makes it half another one. */
export const KEPT_OF_ANOTHER_TOOL = 0.5;

/** Parameters of the policies with outcome memory and taught vectors. */
export const MEMORY_PARAMETERS: readonly PolicyParameter[] = [
  { name: 'alpha', default: 0.1, minimum: 0, maximum: 10, sentence: 'α: how much uncertainty is worth.' },
  {
    name: 'localBonus',
    default: 0.5,
    minimum: 0,
    maximum: 10,
    sentence: 'How much it is worth to try a tool that was not tried for similar queries.',
  },
  {
    name: 'cases',
    default: 4000,
    minimum: 10,
    maximum: 20_000,
    integer: true,
    sentence:
      'Most cases that outcome memory keeps; near-duplicates share one. With 256 dimensions each takes 2 to 3 KB.',
  },
  {
    name: 'projection',
    default: 32,
    minimum: 0,
    maximum: 1024,
    integer: true,
    sentence: 'Dimensions of query and description in the ridge, projected at random; 0: all of them.',
  },
  {
    name: 'taughtRate',
    default: 0.2,
    minimum: 0,
    maximum: 0.5,
    sentence: 'How far one success moves the taught vector of a tool; 0: there are no taught vectors.',
  },
  {
    name: 'taughtFailures',
    default: 0.5,
    minimum: 0,
    maximum: 1,
    sentence: 'How far a failure moves it, as a share of a success.',
  },
  {
    name: 'taughtBuckets',
    default: 1024,
    minimum: 0,
    maximum: 16_384,
    integer: true,
    sentence: 'Buckets for words in a taught vector, 4 bytes each; 0: it knows the embedding alone.',
  },
];

export const SC_LINUCB_MEMORY: PolicyKind = {
  name: NAME,
  sentence:
    'SC-LinUCB with outcome memory and taught vectors: what happened with tools shown for similar queries decides as well.',
  parameters: MEMORY_PARAMETERS,
  learns: true,
  defaultExploration: 'plackett-luce',
  create: (context) => new ScLinUcbMemory(context),
  load: (context, state) => new ScLinUcbMemory(context, state),
};

/** Features that another policy adds to those of this one; all of them are evidence for a tool. */
export interface Widening {
  readonly name: string;
  /** Names of the features, which come after `MEMORY_FEATURES`. */
  readonly features: readonly string[];
  /** θ₀ of each. */
  readonly prior: readonly number[];
}

const AS_IT_IS: Widening = { name: NAME, features: [], prior: [] };

/**
 * The default policy. The paper's features, projected, and beside them what retrieval (h, c), outcome memory (mx, vote,
 * rho, rate) and taught vectors (taught) say; the ridge is centred on weights θ₀ under which a learner that knows
 * nothing ranks exactly like retrieval.
 *   score = θᵀx + α·√(xᵀA⁻¹x) + localBonus·min(1.5, max(0, g + taught))/(1 + n)
 * h, c: words and vectors of retrieval, g their mean; mx: similarity of the nearest case in which the tool did well; vote: what
 * the nearest cases say for it; rho: its success rate near the query; rate: that of all its calls; taught: the score of its
 * taught vector; n: remembered trials near the query.
 */
export class ScLinUcbMemory implements Policy {
  readonly name: string;
  /** Names of what is logged of a candidate: the features of x, and the mean that it had. */
  readonly extras: readonly string[];
  protected readonly context: PolicyContext;
  protected readonly ridge: SemanticRidge;
  protected readonly memory: OutcomeMemory;
  protected readonly calls: CallCounts;
  protected readonly taught: TaughtVectors;
  private readonly rows = { memory: new SlotRows(), taught: new SlotRows() };

  constructor(
    context: PolicyContext,
    state?: LearnerState,
    { name, features, prior: more }: Widening = AS_IT_IS,
  ) {
    this.context = context;
    this.name = name;
    this.extras = [...MEMORY_FEATURES, ...features, 'mean'];
    const { kernels, vectors, parameters, derived } = context;
    const extras = MEMORY_FEATURES.length + features.length;
    const { projection, taughtRate: rate, taughtFailures: failures, taughtBuckets: buckets } = parameters;
    const prior = [0, 0, ...THETA_0, ...more];
    const options = {
      ...{ kernels, vectors, projection, extras, lambda: LAMBDA, prior, derived },
      neverAgainst: [...EVIDENCE, ...features.map((_, at) => MEMORY_FEATURES.length + at)],
    };
    const { dimensions } = vectors;
    const limits = { dimensions, cases: parameters.cases };
    const teaching = { dimensions, buckets, rate, failures };
    if (state === undefined) {
      this.ridge = new SemanticRidge(options);
      this.memory = new OutcomeMemory(kernels, limits);
      this.calls = new CallCounts();
      this.taught = new TaughtVectors(kernels, teaching);
    } else {
      checkProjection(state, projection);
      this.ridge = SemanticRidge.load(options, savedRidge(state));
      this.memory = OutcomeMemory.load(kernels, limits, state.arrays);
      this.calls = CallCounts.load(state.arrays);
      this.taught = TaughtVectors.load(kernels, teaching, state.arrays);
    }
  }

  recall(query: QueryFeatures): Recall {
    const { slots, positives, trials, nearest, votes, cases } = this.memory.recall(query);
    return { slots, positives, trials, nearest, votes, cases, taught: this.taught.score(query) };
  }

  caseCounts(caseId: number): readonly CaseCount[] {
    return this.memory.caseCounts(caseId);
  }

  taughtTerms(query: QueryFeatures, slot: number): readonly TermShare[] {
    return this.taught.termShares(query, slot);
  }

  /** Returns what `rank` would log of these candidates. At full width the mean is that of θ₀: θ is too much work to solve for there. */
  features(query: QueryFeatures, candidates: Candidates, recall: Recall): Float32Array {
    const { slots, similarity } = candidates;
    const { features, base } = this.featuresOf(query, candidates, recall);
    const { taughtRate } = this.context.parameters;
    const needed = taughtRate > 0; // nobody else reads the mean
    const width = this.extras.length;
    const means = needed
      ? this.ridge.canonicalMeans(query.embedding, slots, similarity, features, width)
      : null;
    this.logMeans(features, means ?? base);
    return features;
  }

  rank({ query, candidates, recall }: RankingRequest): Ranking {
    const { slots, similarity, base: retrieval } = candidates;
    const { features, base, trials, taught } = this.featuresOf(query, candidates, recall);
    const width = this.extras.length;
    const { gain, uncertainty } = this.ridge.score(query.embedding, slots, similarity, features, width);
    const { alpha, localBonus } = this.context.parameters;
    const [score, mean, bonus] = float64Columns(slots.length, 3);
    for (let i = 0; i < slots.length; i++) {
      mean[i] = base[i] + gain[i];
      const promise = Math.min(MOST_PROMISE, Math.max(0, retrieval[i] + taught[i]));
      bonus[i] = alpha * uncertainty[i] + (localBonus * promise) / (1 + trials[i]);
      score[i] = mean[i] + bonus[i];
    }
    this.logMeans(features, mean);
    return { score, mean, base, gain, uncertainty, bonus, trials, features };
  }

  learn(example: Example, reward: number, weight: number): void {
    checkExample(example, this.extras.length, reward, weight);
    // The taught vector first: its step is on what the mean of the decision left unexplained.
    this.taught.learn(example.slot, example.query, reward, weight, example.extras[this.meanAt]);
    this.ridge.learn(this.rowOf(example), reward, weight);
  }

  correct(example: Example, from: number, to: number, weight: number): void {
    checkExample(example, this.extras.length, from, weight);
    checkExample(example, this.extras.length, to, weight);
    this.taught.correct(example.slot, example.query, from, to, weight);
    this.ridge.correct(this.rowOf(example), from, to, weight);
  }

  countCall(slot: number, reward: number, weight: number): void {
    this.calls.count(slot, reward, weight);
  }

  recountCall(slot: number, delta: number): void {
    this.calls.recount(slot, delta);
  }

  remember(query: QueryFeatures, outcomes: readonly CaseOutcome[], at: number, unit: number): number {
    return this.memory.remember(query, outcomes, at, unit);
  }

  amend(caseId: number, slot: number, positives: number, negatives: number, unit: number): void {
    this.memory.amend(caseId, slot, positives, negatives, unit);
  }

  addTool(slot: number): void {
    this.calls.scale(slot, 0);
    this.taught.scale(slot, 0);
  }

  changeTool(slot: number, similarity: number): void {
    if (similarity >= SAME_TOOL_FROM) return;
    this.calls.scale(slot, KEPT_OF_ANOTHER_TOOL);
    this.memory.scaleTool(slot, KEPT_OF_ANOTHER_TOOL);
    this.taught.scale(slot, KEPT_OF_ANOTHER_TOOL);
  }

  forgetTool(slot: number): void {
    this.calls.scale(slot, 0);
    this.memory.forgetTool(slot);
    this.taught.scale(slot, 0);
  }

  /** Forgets cases alone: what a unit taught ridge and taught vectors cannot be told from what others did. */
  forgetUnit(unit: number): number {
    return this.memory.forgetUnit(unit);
  }

  freeze(): void {
    this.ridge.freeze();
  }

  prepare(queries: readonly QueryFeatures[]): void {
    this.ridge.prepare(embeddingsOf(queries));
  }

  save(): LearnerState {
    return completed(this.saveInSteps());
  }

  *saveInSteps(): Generator<void, LearnerState> {
    const { updates, matrix, target } = this.ridge.save();
    yield;
    const memory = yield* this.memory.saveInSteps();
    const taught = yield* this.taught.saveInSteps();
    return {
      policy: this.name,
      numbers: { updates, projection: this.context.parameters.projection, projectionSeed: PROJECTION_SEED },
      arrays: { matrix, target, ...this.calls.save(), ...memory, ...taught },
    };
  }

  sizeInBytes(): LearnerSize {
    return {
      matrices: this.ridge.sizeInBytes,
      perTool: this.calls.bytes + this.taught.bytes + this.ridge.formsInBytes,
      memory: this.memory.bytes,
      cases: this.memory.size,
      updates: this.ridge.ridge.statistics.updates,
    };
  }

  ridges(): readonly Ridge[] {
    return [this.ridge.ridge];
  }

  free(): void {
    this.ridge.free();
    this.memory.dispose();
    this.taught.free();
  }

  private rowOf({ query, slot, similarity, extras }: Example): SemanticRow {
    const { ridge } = this;
    const { embedding } = query;
    const projected = formOf(query, ridge, () => ridge.project(embedding));
    return { embedding, projected, slot, similarity, extras: extras.subarray(0, this.meanAt) };
  }

  /**
   * Returns the features of all candidates, those of a widened policy too, and what follows from them. Each row has room for the mean
   * behind them.
   */
  protected featuresOf(_query: QueryFeatures, candidates: Candidates, recall: Recall): MemoryFeatures {
    const { calls, taught, rows, extras } = this;
    return memoryFeatures(candidates, recall, calls, taught, THETA_0, rows, extras.length);
  }

  /** Place of the mean among what is logged of a candidate: the last. */
  private get meanAt(): number {
    return this.extras.length - 1;
  }

  /** Writes the mean of each candidate behind its features. */
  private logMeans(features: Float32Array, mean: Float64Array): void {
    const { meanAt } = this;
    for (let i = 0, at = meanAt; i < mean.length; i++, at += meanAt + 1) features[at] = mean[i];
  }
}

/** @throws Error when A was learned over another projection. */
function checkProjection({ numbers }: LearnerState, projection: number): void {
  if (numbers.projection === projection && numbers.projectionSeed === PROJECTION_SEED) return;
  throw new Error(
    `This learner was saved with projection ${numbers.projection ?? 'none (version 1)'}, ` +
      `seed ${numbers.projectionSeed ?? 'none'}; here it is ${projection}, seed ${PROJECTION_SEED}.`,
  );
}
