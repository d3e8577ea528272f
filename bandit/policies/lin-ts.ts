import type { Example, LearnerSize, LearnerState, RankingRequest } from '../policy.ts';
import { POLICY_COUNTERS, type Random } from '../random.ts';
import { Cholesky } from '../ridge/cholesky.ts';
import type { PolicyContext, PolicyKind } from './policy-kind.ts';
import { SEMANTIC_PARAMETERS, SemanticPolicy, savedRidge } from './sc-linucb.ts';

export const LIN_TS: PolicyKind = {
  name: 'lin-ts',
  sentence: 'Thompson sampling over the paper’s features: every decision draws its own weights.',
  parameters: SEMANTIC_PARAMETERS,
  learns: true,
  defaultExploration: 'plackett-luce',
  create: (context) => new LinTs(context),
  load: (context, state) => new LinTs(context, state),
};

/**
 * Linear Thompson sampling (Agrawal & Goyal 2013, Algorithm 1): θ̃ = θ + α·A^(−½)·z, z ~ N(0, I), score θ̃ᵀx.
 * The draw is keyed by the decision; propensities are those given θ̃. A = RᵀR is maintained by rank-one
 * updates of R, so that a draw is one triangular solve.
 */
class LinTs extends SemanticPolicy {
  readonly name = 'lin-ts';
  /** Null in a process that only folds. */
  private readonly factor: Cholesky | null;

  constructor(context: PolicyContext, state?: LearnerState) {
    super(context, state);
    const { size } = this.ridge;
    if (!context.derived) this.factor = null;
    else if (state === undefined) this.factor = Cholesky.ofIdentity(size, context.parameters.lambda);
    else this.factor = Cholesky.of(savedRidge(state).matrix, size);
  }

  override learn(example: Example, reward: number, weight: number): void {
    super.learn(example, reward, weight);
    this.factor?.update(this.row(example), weight);
  }

  override sizeInBytes(): LearnerSize {
    const size = super.sizeInBytes();
    return { ...size, matrices: size.matrices + (this.factor?.factor.byteLength ?? 0) };
  }

  protected bonus({ query, candidates, random }: RankingRequest): Float64Array {
    const { alpha } = this.context.parameters;
    const drawn = (this.factor as Cholesky).solveUpper(standardNormals(random, this.ridge.size));
    const { dimensions } = this.context.vectors;
    const shared = dot(drawn, 0, query.embedding) + drawn[2 * dimensions + 1];
    return Float64Array.from(candidates.slots, (slot, i) => {
      const own = dot(drawn, dimensions, this.context.vectors.get(slot));
      return alpha * (shared + own + drawn[2 * dimensions] * candidates.similarity[i]);
    });
  }

  private row({ query: { embedding }, slot, similarity }: Example): Float64Array {
    const { dimensions } = this.context.vectors;
    const x = new Float64Array(this.ridge.size);
    if (embedding !== null) x.set(embedding);
    x.set(this.context.vectors.get(slot), dimensions);
    x[2 * dimensions] = similarity;
    x[2 * dimensions + 1] = 1;
    return x;
  }
}

/** Box & Muller (1958): two uniform draws make two normal ones. */
function standardNormals(random: Random, count: number): Float64Array {
  const normals = new Float64Array(count + (count % 2));
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(random.uniform(POLICY_COUNTERS + i)));
    const angle = 2 * Math.PI * random.uniform(POLICY_COUNTERS + i + 1);
    normals[i] = radius * Math.cos(angle);
    normals[i + 1] = radius * Math.sin(angle);
  }
  return normals.subarray(0, count);
}

function dot(a: Float64Array, from: number, b: Float32Array | null): number {
  let sum = 0;
  if (b !== null) for (let i = 0; i < b.length; i++) sum += a[from + i] * b[i];
  return sum;
}
