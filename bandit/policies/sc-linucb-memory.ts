import { float64Columns } from '../columns.ts';
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
} from '../policy.ts';
import type { Ridge } from '../ridge.ts';
import { SemanticRidge } from '../semantic-ridge.ts';
import { CallCounts } from './call-counts.ts';
import { checkExample } from './checks.ts';
import { MEMORY_FEATURES, memoryFeatures } from './memory-features.ts';
import type { PolicyContext, PolicyKind } from './policy-kind.ts';
import { embeddingsOf, savedRidge } from './semantic-policy.ts';

const NAME = 'sc-linucb-memory';
/** λ: how strongly the weights are held at θ₀, in observations. */
const LAMBDA = 10;
/** θ₀ over MEMORY_FEATURES: h, c, mx, vote, rho, rate; it is 0 everywhere else. */
const THETA_0 = [0.3, 0.3, 0.3, 0.5, 0.3, 0];
/** A description that moved further than this is half another tool. */
const SAME_TOOL_FROM = 0.8;
const KEPT_OF_ANOTHER_TOOL = 0.5;

export const SC_LINUCB_MEMORY: PolicyKind = {
  name: NAME,
  sentence:
    'SC-LinUCB with outcome memory: what happened with tools shown for similar queries decides as well.',
  parameters: [
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
  ],
  learns: true,
  defaultExploration: 'plackett-luce',
  create: (context) => new ScLinUcbMemory(context),
  load: (context, state) => new ScLinUcbMemory(context, state),
};

/**
 * The default policy. The paper's features and, beside them, what retrieval (h, c) and outcome memory (mx, vote,
 * rho, rate) say; the ridge is centred on weights θ₀ under which an empty memory ranks exactly like retrieval.
 *   score = θᵀx + α·√(xᵀA⁻¹x) + localBonus·g/(1 + n)
 */
class ScLinUcbMemory implements Policy {
  readonly name = NAME;
  readonly extras = MEMORY_FEATURES;
  private readonly context: PolicyContext;
  private readonly ridge: SemanticRidge;
  private readonly memory: OutcomeMemory;
  private readonly calls: CallCounts;

  constructor(context: PolicyContext, state?: LearnerState) {
    this.context = context;
    const { kernels, vectors, parameters, derived } = context;
    const extras = MEMORY_FEATURES.length;
    const options = { kernels, vectors, extras, lambda: LAMBDA, prior: [0, 0, ...THETA_0], derived };
    const limits = { dimensions: vectors.dimensions, cases: parameters.cases };
    if (state === undefined) {
      this.ridge = new SemanticRidge(options);
      this.memory = new OutcomeMemory(kernels, limits);
      this.calls = new CallCounts();
    } else {
      this.ridge = SemanticRidge.load(options, savedRidge(state));
      this.memory = OutcomeMemory.load(kernels, limits, state.arrays);
      this.calls = CallCounts.load(state.arrays);
    }
  }

  recall(query: QueryFeatures): Recall {
    return this.memory.recall(query);
  }

  caseCounts(caseId: number): readonly CaseCount[] {
    return this.memory.caseCounts(caseId);
  }

  features(_query: QueryFeatures, candidates: Candidates, recall: Recall): Float32Array {
    return memoryFeatures(candidates, recall, this.calls, THETA_0).features;
  }

  rank({ query, candidates, recall }: RankingRequest): Ranking {
    const { slots, similarity, base: retrieval } = candidates;
    const { features, base, trials } = memoryFeatures(candidates, recall, this.calls, THETA_0);
    const { gain, uncertainty } = this.ridge.score(query.embedding, slots, similarity, features);
    const { alpha, localBonus } = this.context.parameters;
    const [score, mean, bonus] = float64Columns(slots.length, 3);
    for (let i = 0; i < slots.length; i++) {
      mean[i] = base[i] + gain[i];
      bonus[i] = alpha * uncertainty[i] + (localBonus * retrieval[i]) / (1 + trials[i]);
      score[i] = mean[i] + bonus[i];
    }
    return { score, mean, base, gain, uncertainty, bonus, trials, features };
  }

  learn(example: Example, reward: number, weight: number): void {
    checkExample(example, this.extras.length, reward, weight);
    this.ridge.learn(example, reward, weight);
  }

  correct(example: Example, from: number, to: number, weight: number): void {
    checkExample(example, this.extras.length, from, weight);
    checkExample(example, this.extras.length, to, weight);
    this.ridge.correct(example, from, to, weight);
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
  }

  changeTool(slot: number, similarity: number): void {
    if (similarity >= SAME_TOOL_FROM) return;
    this.calls.scale(slot, KEPT_OF_ANOTHER_TOOL);
    this.memory.scaleTool(slot, KEPT_OF_ANOTHER_TOOL);
  }

  forgetTool(slot: number): void {
    this.calls.scale(slot, 0);
    this.memory.forgetTool(slot);
  }

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
    const { updates, matrix, target } = this.ridge.save();
    return {
      policy: NAME,
      numbers: { updates },
      arrays: { matrix, target, ...this.calls.save(), ...this.memory.save() },
    };
  }

  sizeInBytes(): LearnerSize {
    return {
      matrices: this.ridge.sizeInBytes,
      perTool: this.calls.bytes + this.ridge.formsInBytes,
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
  }
}
