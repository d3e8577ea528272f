import { FrozenScorer } from './frozen-scorer.ts';
import type { Kernels } from './kernels/kernels.ts';
import type { Example } from './policy.ts';
import { Ridge, type SavedRidge } from './ridge.ts';
import { SemanticScorer, type SemanticScores } from './semantic-scorer.ts';
import type { ToolVectors } from './tool-vectors.ts';

export interface SemanticRidgeOptions {
  readonly kernels: Kernels;
  /** φ by slot; may be shared with other learners. D is its number of dimensions. */
  readonly vectors: ToolVectors;
  /** E, the number of features after the bias. */
  readonly extras: number;
  /** λ > 0. */
  readonly lambda: number;
  /** θ₀ over [similarity; 1; extras], length 2 + E; it is zero for e(q) and φ. Zeros if absent. */
  readonly prior?: ArrayLike<number>;
  /** False in a process that only folds. Default true. */
  readonly derived?: boolean;
}

/**
 * The ridge over x = [e(q) (D); φ_slot (D); similarity; 1; extras (E)], d = 2D + 2 + E. It composes x from an
 * example, and scores candidates without ever composing it (`SemanticScorer`). An embedding of null counts as
 * zeros.
 */
export class SemanticRidge {
  /** d. */
  readonly size: number;
  /** The ridge over the whole x, for policies that need more than scores. */
  readonly ridge: Ridge;
  readonly #vectors: ToolVectors;
  readonly #extras: number;
  readonly #x: Float64Array;
  readonly #options: SemanticRidgeOptions;
  readonly #prior: Float64Array;
  readonly #scorer: SemanticScorer | null;
  #frozen: FrozenScorer | null = null;

  /** @throws RangeError on a bad λ, prior or number of extras, or when `saved` is not a ridge of this shape. */
  constructor(options: SemanticRidgeOptions, saved?: SavedRidge) {
    const { kernels, vectors, extras, lambda, derived } = options;
    if (!Number.isSafeInteger(extras) || extras < 0) {
      throw new RangeError(`extras must be a whole number of at least 0, got ${extras}`);
    }
    const specialPrior = Float64Array.from(options.prior ?? new Float64Array(2 + extras));
    if (specialPrior.length !== 2 + extras) {
      throw new RangeError(`the prior must have ${2 + extras} weights, got ${specialPrior.length}`);
    }
    this.size = 2 * vectors.dimensions + 2 + extras;
    const prior = new Float64Array(this.size);
    prior.set(specialPrior, 2 * vectors.dimensions);
    const ridge = { kernels, size: this.size, lambda, prior, derived };
    this.ridge = saved === undefined ? new Ridge(ridge) : Ridge.load(ridge, saved);
    this.#options = options;
    this.#prior = specialPrior;
    this.#vectors = vectors;
    this.#extras = extras;
    this.#x = new Float64Array(this.size);
    this.#scorer =
      (derived ?? true) ? new SemanticScorer(kernels, vectors, this.ridge.solution, specialPrior) : null;
  }

  /** @throws RangeError when what was saved is not a ridge of this shape. */
  static load(options: SemanticRidgeOptions, saved: SavedRidge): SemanticRidge {
    return new SemanticRidge(options, saved);
  }

  /**
   * Scores n candidates: `slots` and `similarity` (e(q)·φ) have n elements, `extras` n × E, row by row.
   * @throws RangeError when the shapes do not fit or a slot does not exist. @throws Error in a process that
   * only folds.
   */
  score(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
  ): SemanticScores {
    if (this.#scorer === null) throw new Error('this ridge only folds; make it with derived: true to score');
    return (this.#frozen ?? this.#scorer).score(query, slots, similarity, extras);
  }

  /** It will learn no more, and scores in less than half of the time. Learning throws from now on. */
  freeze(): void {
    const { kernels, vectors } = this.#options;
    this.#frozen ??= new FrozenScorer(kernels, vectors, this.ridge.solution, this.#prior);
  }

  /** Of a frozen ridge: see `FrozenScorer.prepare`. */
  prepare(queries: readonly Float32Array[]): void {
    this.#frozen?.prepare(queries);
  }

  /** A += w·xxᵀ, b += w·r·x. @throws RangeError, with nothing changed, unless all are finite and w > 0. */
  learn(example: Example, reward: number, weight: number): void {
    this.ridge.learn(this.#compose(example), reward, weight);
  }

  /** b += w·(to − from)·x. @throws RangeError, with nothing changed, unless all are finite. */
  correct(example: Example, from: number, to: number, weight: number): void {
    this.ridge.correct(this.#compose(example), weight * (to - from));
  }

  save(): SavedRidge {
    return this.ridge.save();
  }

  /** Of what grows with the dimensions alone. */
  get sizeInBytes(): number {
    return this.ridge.sizeInBytes + (this.#scorer?.sizeInBytes ?? 0);
  }

  /** Of the forms that are kept for every tool. */
  get formsInBytes(): number {
    return this.#scorer?.formsInBytes ?? 0;
  }

  /** Gives the memory back. The ridge must not be used afterwards. */
  free(): void {
    this.ridge.free();
    this.#scorer?.free();
    this.#frozen?.free();
  }

  #compose(example: Example): Float64Array {
    if (this.#frozen !== null) throw new Error('this ridge is frozen and learns no more');
    const { dimensions } = this.#vectors;
    const { embedding, extras } = example;
    if (embedding !== null && embedding.length !== dimensions) {
      throw new RangeError(`the embedding must have ${dimensions} dimensions, got ${embedding.length}`);
    }
    if (extras.length !== this.#extras) {
      throw new RangeError(`an example has ${this.#extras} extras here, got ${extras.length}`);
    }
    const x = this.#x;
    if (embedding === null) x.fill(0, 0, dimensions);
    else x.set(embedding);
    x.set(this.#vectors.get(example.slot), dimensions);
    x[2 * dimensions] = example.similarity;
    x[2 * dimensions + 1] = 1;
    x.set(extras, 2 * dimensions + 2);
    return x;
  }
}
