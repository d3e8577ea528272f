import type { Kernels } from '../kernels/kernels.ts';
import type { ToolVectors } from '../tool-vectors.ts';
import { Cholesky } from './cholesky.ts';
import { FrozenScorer } from './frozen-scorer.ts';
import { Projection } from './projection.ts';
import { Ridge, type SavedRidge } from './ridge.ts';
import { SemanticScorer, type SemanticScores } from './semantic-scorer.ts';

export interface SemanticRidgeOptions {
  readonly kernels: Kernels;
  /** φ by slot; may be shared with other learners. D is its number of dimensions. */
  readonly vectors: ToolVectors;
  /** E, the number of features after the bias. */
  readonly extras: number;
  /** p: embeddings are projected to so many dimensions first; 0, or from D on, they are taken as they are. */
  readonly projection?: number;
  /** λ > 0. */
  readonly lambda: number;
  /** θ₀ over [similarity; 1; extras], length 2 + E; it is zero for e(q) and φ. Zeros if absent. */
  readonly prior?: ArrayLike<number>;
  /**
   * Extras, by index, whose weight is taken as 0 in scores if it is negative in θ. Learning and θ are not affected. None if
   * absent.
   */
  readonly neverAgainst?: readonly number[];
  /** False in a process that only folds. Default true. */
  readonly derived?: boolean;
}

/** At this size or more, solving for θ takes too long for one entry of the fold (40 ms at 520, .3 ms at 73). */
const SOLVABLE = 128;

/** One row of the ridge. */
export interface SemanticRow {
  readonly embedding: Float32Array | null;
  /** Projection of the embedding, as `project` returned it; computed if absent. */
  readonly projected?: Float32Array | null;
  readonly slot: number;
  readonly similarity: number;
  /** The features after the bias, E. */
  readonly extras: Float32Array;
}

/**
 * The ridge over x = [e(q); φ_slot; similarity; 1; extras (E)], d = 2D + 2 + E, or with Rᵀe(q) and Rᵀφ_slot in place of
 * both, d = 2p + 2 + E (`Projection`). It composes x from a row, and scores candidates without ever composing it
 * (`SemanticScorer`). An embedding of null counts as zeros.
 */
export class SemanticRidge {
  /** d. */
  readonly size: number;
  /** The ridge over the whole x, for policies that need more than scores. */
  readonly ridge: Ridge;
  readonly #projection: Projection | null;
  /** The vectors that x is made from: those of the tools, or their projections. */
  readonly #vectors: ToolVectors;
  readonly #extras: number;
  readonly #x: Float64Array;
  readonly #options: SemanticRidgeOptions;
  readonly #prior: Float64Array;
  readonly #neverAgainst: readonly number[];
  /** Where the extras begin in x. */
  readonly #firstExtra: number;
  readonly #scorer: SemanticScorer | null;
  #frozen: FrozenScorer | null = null;

  /** @throws RangeError on a bad λ, prior or number of extras, or when `saved` is not a ridge of this shape. */
  constructor(options: SemanticRidgeOptions, saved?: SavedRidge) {
    const { kernels, extras, lambda, derived } = options;
    if (!Number.isSafeInteger(extras) || extras < 0) {
      throw new RangeError(`extras must be a whole number of at least 0, got ${extras}`);
    }
    const specialPrior = Float64Array.from(options.prior ?? new Float64Array(2 + extras));
    if (specialPrior.length !== 2 + extras) {
      throw new RangeError(`the prior must have ${2 + extras} weights, got ${specialPrior.length}`);
    }
    const { projection = 0, vectors: own } = options;
    const isProjected = projection > 0 && projection < own.dimensions;
    this.#projection = isProjected ? new Projection(kernels, own, projection) : null;
    const vectors = this.#projection?.tools ?? own;
    this.#firstExtra = 2 * vectors.dimensions + 2;
    this.size = this.#firstExtra + extras;
    this.#neverAgainst = options.neverAgainst ?? [];
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
   * Scores n candidates: `slots` and `similarity` (e(q)·φ) have n elements, `extras` n × `width`, row by row.
   * @param width of a row of extras, at least E: what comes after E in a row is not read.
   * @throws RangeError when the shapes do not fit or a slot does not exist. @throws Error in a process that
   * only folds.
   */
  score(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width = this.#extras,
  ): SemanticScores {
    if (this.#scorer === null) throw new Error('this ridge only folds; make it with derived: true to score');
    this.#projection?.refresh(slots);
    // Nothing else is projected before it is read.
    const projected = query === null ? null : (this.#projection?.projected(query) ?? query);
    const scores = (this.#frozen ?? this.#scorer).score(projected, slots, similarity, extras, width);
    this.#raise(scores, extras, width);
    return scores;
  }

  /**
   * θᵀx of n candidates with θ solved from A and b alone, so that it has the same bits in every process, in one that
   * only folds too. Null for a ridge that is too large for it.
   */
  canonicalMeans(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width = this.#extras,
  ): Float64Array | null {
    if (this.size >= SOLVABLE) return null;
    const { statistics } = this.ridge;
    const theta = Cholesky.of(statistics.packed(), this.size).solve(statistics.target);
    for (const extra of this.#neverAgainst) {
      const at = this.#firstExtra + extra;
      theta[at] = Math.max(0, theta[at]);
    }
    const projected = this.project(query);
    return Float64Array.from(slots, (slot, i) => {
      const own = extras.subarray(i * width, i * width + this.#extras);
      const x = this.#compose({ embedding: query, projected, slot, similarity: similarity[i], extras: own });
      let mean = 0;
      for (let k = 0; k < x.length; k++) mean += theta[k] * x[k];
      return mean;
    });
  }

  /** The embedding of a query as x has it, the same for all tools. */
  project(embedding: Float32Array | null): Float32Array | null {
    return embedding === null ? null : (this.#projection?.project(embedding) ?? embedding);
  }

  /** Ends learning, so that scoring takes less than half of the time. Learning throws from now on. */
  freeze(): void {
    this.#frozen ??= new FrozenScorer(this.#options.kernels, this.#vectors, this.ridge.solution, this.#prior);
  }

  /** Prepares a frozen ridge, see `FrozenScorer.prepare`. What is projected is small enough to need no preparation. */
  prepare(queries: readonly Float32Array[]): void {
    if (this.#projection === null) this.#frozen?.prepare(queries);
  }

  /** A += w·xxᵀ, b += w·r·x. @throws RangeError, with nothing changed, unless all are finite and w > 0. */
  learn(row: SemanticRow, reward: number, weight: number): void {
    this.ridge.learn(this.#compose(row), reward, weight);
  }

  /** b += w·(to − from)·x. @throws RangeError, with nothing changed, unless all are finite. */
  correct(row: SemanticRow, from: number, to: number, weight: number): void {
    this.ridge.correct(this.#compose(row), weight * (to - from));
  }

  save(): SavedRidge {
    return this.ridge.save();
  }

  /** Size of what grows with the dimensions alone. */
  get sizeInBytes(): number {
    return this.ridge.sizeInBytes + (this.#scorer?.sizeInBytes ?? 0) + (this.#projection?.sizeInBytes ?? 0);
  }

  /** Size of the forms that are kept for every tool. */
  get formsInBytes(): number {
    return (this.#scorer?.formsInBytes ?? 0) + (this.#projection?.tools.sizeInBytes ?? 0);
  }

  /** Frees the memory. The ridge must not be used afterwards. */
  free(): void {
    this.ridge.free();
    this.#scorer?.free();
    this.#frozen?.free();
    this.#projection?.free();
  }

  /** Adds what is missing to 0 of each weight below 0 that must not count against a candidate. */
  #raise({ mean, base, gain }: SemanticScores, extras: Float32Array, width: number): void {
    for (const extra of this.#neverAgainst) {
      const weight = this.#prior[2 + extra] + this.ridge.solution.gain[this.#firstExtra + extra];
      if (weight >= 0) continue;
      for (let i = 0, at = extra; i < gain.length; i++, at += width) {
        gain[i] -= weight * extras[at];
        mean[i] = base[i] + gain[i];
      }
    }
  }

  #compose({ embedding, projected, slot, similarity, extras }: SemanticRow): Float64Array {
    if (this.#frozen !== null) throw new Error('this ridge is frozen and learns no more');
    const { dimensions } = this.#vectors;
    const query = projected === undefined ? this.project(embedding) : projected;
    if (query !== null && query.length !== dimensions) {
      throw new RangeError(`the embedding must have ${dimensions} dimensions, got ${query.length}`);
    }
    if (extras.length !== this.#extras) {
      throw new RangeError(`a row has ${this.#extras} extras here, got ${extras.length}`);
    }
    const x = this.#x;
    // No `set` and no views: they take longer than the numbers.
    for (let i = 0; i < dimensions; i++) x[i] = query === null ? 0 : query[i];
    this.#projection?.refresh([slot]);
    this.#vectors.copyTo(x, dimensions, slot);
    x[2 * dimensions] = similarity;
    x[2 * dimensions + 1] = 1;
    for (let i = 0; i < this.#extras; i++) x[this.#firstExtra + i] = extras[i];
    return x;
  }
}
