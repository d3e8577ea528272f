import { savedArray } from '../memory/saved-array.ts';
import type { Example, LearnerSize, LearnerState, Ranking, RankingRequest } from '../policy.ts';
import { Ridge, type RidgeOptions } from '../ridge.ts';
import { checkExample } from './checks.ts';
import type { PolicyContext, PolicyKind } from './policy-kind.ts';
import { WithoutMemory } from './without-memory.ts';

const NAME = 'linucb-onehot';
/** A has (D + tools + 1)² elements; beyond this it would be larger than everything else together. */
const MAXIMUM_SLOTS = 2000;

export const LINUCB_ONEHOT: PolicyKind = {
  name: NAME,
  sentence:
    'LinUCB that knows tools by number, not by meaning; starts anew whenever the set of tools changes.',
  parameters: [
    { name: 'alpha', default: 0.5, minimum: 0, maximum: 10, sentence: 'α: how much uncertainty is worth.' },
    {
      name: 'lambda',
      default: 1,
      minimum: 1e-3,
      maximum: 1e3,
      sentence: 'λ: how strongly weights are held at 0.',
    },
  ],
  learns: true,
  defaultExploration: 'ucb',
  maximumSlots: MAXIMUM_SLOTS,
  create: (context) => new LinUcbOneHot(context, 0),
  load: (context, state) => LinUcbOneHot.load(context, state),
};

/**
 * The baseline of the paper (Müller, Semantic Context for Tool Orchestration, section 3.1, “LinUCB-NS”):
 * x = [e(q); e_slot; 1], d = D + K + 1. When K changes it is initialised anew (appendix B.6, strategy a).
 */
class LinUcbOneHot extends WithoutMemory {
  readonly name = NAME;
  private readonly context: PolicyContext;
  /** K: one more than the highest slot in use. */
  private slots: number;
  /** Null until something is learned about the present set of tools. */
  private ridge: Ridge | null = null;

  constructor(context: PolicyContext, slots: number) {
    super();
    this.context = context;
    this.slots = slots;
  }

  static load(context: PolicyContext, state: LearnerState): LinUcbOneHot {
    const policy = new LinUcbOneHot(context, state.numbers.slots);
    if (state.numbers.updates === 0) return policy;
    policy.ridge = Ridge.load(policy.ridgeOptions(), {
      updates: state.numbers.updates,
      matrix: savedArray(state.arrays, 'matrix', Float64Array),
      target: savedArray(state.arrays, 'target', Float64Array),
    });
    return policy;
  }

  /** @throws RangeError when there are more slots than this policy can tell apart. */
  rank({ query, candidates }: RankingRequest): Ranking {
    if (this.slots > MAXIMUM_SLOTS) {
      throw new RangeError(
        `Policy “${NAME}” tells at most ${MAXIMUM_SLOTS} tools apart, and there are ${this.slots}: use “sc-linucb”.`,
      );
    }
    const n = candidates.slots.length;
    const { mean, variance } = this.predict(query.embedding, candidates.slots);
    const uncertainty = variance.map(Math.sqrt);
    const bonus = uncertainty.map((value) => this.context.parameters.alpha * value);
    return {
      score: mean.map((value, i) => value + bonus[i]),
      mean,
      base: new Float64Array(n),
      gain: mean,
      uncertainty,
      bonus,
      trials: new Float64Array(n),
      features: new Float32Array(0),
    };
  }

  learn(example: Example, reward: number, weight: number): void {
    checkExample(example, 0, reward, weight);
    const x = this.row(example);
    if (x === null) return;
    this.ridge ??= new Ridge(this.ridgeOptions());
    this.ridge.learn(x, reward, weight);
  }

  correct(example: Example, from: number, to: number, weight: number): void {
    checkExample(example, 0, from, weight);
    checkExample(example, 0, to, weight);
    const x = this.row(example);
    if (x !== null) this.ridge?.correct(x, weight * (to - from));
  }

  override addTool(slot: number): void {
    this.slots = Math.max(this.slots, slot + 1);
    this.startAnew();
  }

  override forgetTool(): void {
    this.startAnew();
  }

  save(): LearnerState {
    const saved = this.ridge?.save();
    return {
      policy: NAME,
      numbers: { slots: this.slots, updates: saved?.updates ?? 0 },
      arrays: saved === undefined ? {} : { matrix: saved.matrix, target: saved.target },
    };
  }

  sizeInBytes(): LearnerSize {
    const updates = this.ridge?.statistics.updates ?? 0;
    return { matrices: this.ridge?.sizeInBytes ?? 0, perTool: 0, memory: 0, cases: 0, updates };
  }

  override ridges(): readonly Ridge[] {
    return this.ridge === null ? [] : [this.ridge];
  }

  free(): void {
    this.ridge?.free();
    this.ridge = null;
  }

  private startAnew(): void {
    this.free();
  }

  private ridgeOptions(): RidgeOptions {
    const { kernels, vectors, parameters, derived } = this.context;
    return { kernels, size: vectors.dimensions + this.slots + 1, lambda: parameters.lambda, derived };
  }

  /** [e(q); e_slot; 1]; null for a slot that is beyond the limit. */
  private row({ embedding, slot }: Example): Float64Array | null {
    const { dimensions } = this.context.vectors;
    if (slot >= this.slots || this.slots > MAXIMUM_SLOTS) return null;
    const x = new Float64Array(dimensions + this.slots + 1);
    if (embedding !== null) x.set(embedding);
    x[dimensions + slot] = 1;
    x[x.length - 1] = 1;
    return x;
  }

  /**
   * θᵀx and xᵀA⁻¹x of all candidates from one product: with z = [e(q); 0; 1] and y = A⁻¹z,
   * xᵀA⁻¹x = zᵀy + 2·y_slot + (A⁻¹)_slot,slot.
   */
  private predict(
    embedding: Float32Array | null,
    slots: Int32Array,
  ): { mean: Float64Array; variance: Float64Array } {
    const { kernels, vectors, parameters } = this.context;
    const mean = new Float64Array(slots.length);
    const { ridge } = this;
    if (ridge === null) {
      const norm = embedding?.reduce((sum, value) => sum + value * value, 0) ?? 0;
      return { mean, variance: new Float64Array(slots.length).fill((norm + 2) / parameters.lambda) };
    }
    const { solution, size } = ridge;
    const z = kernels.allocateFloat64(solution.gain.length);
    const y = kernels.allocateFloat64(solution.gain.length);
    if (embedding !== null) z.set(embedding);
    z[size - 1] = 1;
    solution.inverse.times(z, size, y);
    const common = kernels.dot(z, y, size);
    const shared = kernels.dot(z, solution.gain, size);
    const variance = Float64Array.from(slots, (slot, i) => {
      const at = vectors.dimensions + slot;
      mean[i] = shared + solution.gain[at];
      return Math.max(0, common + 2 * y[at] + solution.inverse.element(at, at));
    });
    kernels.free(z);
    kernels.free(y);
    return { mean, variance };
  }
}
