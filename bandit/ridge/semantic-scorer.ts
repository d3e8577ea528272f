import { float64Columns } from '../columns.ts';
import type { CandidateForms, FormCache, Kernels } from '../kernels/kernels.ts';
import { padded } from '../kernels/symmetric-layout.ts';
import type { ToolVectors } from '../tool-vectors.ts';
import type { RidgeSolution } from './ridge-solution.ts';
import { SlotForms } from './slot-forms.ts';

/** The candidates of one request, in kernel memory that is used again for the next one. */
export class CandidateArrays {
  readonly capacity: number;
  readonly slots: Int32Array;
  readonly special: Float64Array;
  readonly gain: Float64Array;
  readonly variance: Float64Array;
  readonly #kernels: Kernels;

  constructor(kernels: Kernels, capacity: number, specials: number) {
    this.#kernels = kernels;
    this.capacity = capacity;
    this.slots = kernels.allocateInt32(capacity);
    this.special = kernels.allocateFloat64(capacity * specials);
    this.gain = kernels.allocateFloat64(capacity);
    this.variance = kernels.allocateFloat64(capacity);
  }

  get sizeInBytes(): number {
    return this.slots.byteLength + this.special.byteLength + 2 * this.gain.byteLength;
  }

  free(): void {
    for (const array of [this.slots, this.special, this.gain, this.variance]) this.#kernels.free(array);
  }
}

/** Scores of n candidates, column by column; the arrays belong to the caller. */
export interface SemanticScores {
  /** θᵀx. */
  readonly mean: Float64Array;
  /** θ₀ᵀx. */
  readonly base: Float64Array;
  /** (θ − θ₀)ᵀx; mean = base + gain. */
  readonly gain: Float64Array;
  /** √(xᵀA⁻¹x). */
  readonly uncertainty: Float64Array;
}

/**
 * Scores all candidates of one query. The part of the query is computed once, and φᵀMφ comes from a cache per slot. With
 * M = A⁻¹, w = M[:, q]·q and z = [similarity; 1; extras], the elements of x after φ,
 *   xᵀMx = qᵀMq + φᵀMφ + zᵀMz + 2·(φ·w_φ + z·w_z + zᵀMφ).
 * This is an identity, not an approximation; d·D operations per query and 2D per candidate remain.
 */
export class SemanticScorer {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #solution: RidgeSolution;
  readonly #prior: Float64Array;
  readonly #forms: SlotForms;
  readonly #query: Float64Array;
  readonly #projection: Float64Array;
  readonly #specialMatrix: Float64Array;
  readonly #vector: Float64Array;
  #candidates: CandidateArrays;

  /** `prior` is θ₀ over z, the only place where it is not zero. */
  constructor(kernels: Kernels, vectors: ToolVectors, solution: RidgeSolution, prior: Float64Array) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#solution = solution;
    this.#prior = prior;
    const width = padded(solution.size);
    this.#forms = new SlotForms(kernels, vectors, prior.length);
    this.#query = kernels.allocateFloat64(width);
    this.#projection = kernels.allocateFloat64(width);
    this.#specialMatrix = kernels.allocateFloat64(prior.length * prior.length);
    this.#vector = kernels.allocateFloat64(vectors.dimensions);
    this.#candidates = new CandidateArrays(kernels, 64, prior.length);
  }

  /** See `SemanticRidge.score`. */
  score(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width = this.#prior.length - 2,
  ): SemanticScores {
    this.#checkShapes(query, slots, similarity, extras, width);
    const count = slots.length;
    const [mean, base, gain, uncertainty] = float64Columns(count, 4);
    const scores = { mean, base, gain, uncertainty };
    this.#takeCandidates(slots, similarity, extras, width, base);
    const candidates = this.#candidates;
    this.#forms.prepare(slots);

    const kernels = this.#kernels;
    const solution = this.#solution;
    const { dimensions } = this.#vectors;
    for (let i = 0; i < dimensions; i++) this.#query[i] = query === null ? 0 : query[i];
    solution.inverse.times(this.#query, dimensions, this.#projection);
    this.#readSpecialMatrix();

    const cache = this.#cache();
    const forms: CandidateForms = {
      slots: candidates.slots,
      special: candidates.special,
      projection: this.#projection,
      gainWeights: solution.gain,
      specialMatrix: this.#specialMatrix,
      queryGain: kernels.dot(solution.gain, this.#query, dimensions),
      queryForm: kernels.dot(this.#projection, this.#query, dimensions),
      gain: candidates.gain,
      variance: candidates.variance,
    };
    kernels.refreshForms(cache, this.#vectors, candidates.slots, count);
    kernels.scoreForms(cache, this.#vectors, forms, count);
    this.#finish(scores);
    return scores;
  }

  get sizeInBytes(): number {
    return this.#candidates.sizeInBytes + 2 * this.#query.byteLength;
  }

  get formsInBytes(): number {
    return this.#forms.sizeInBytes;
  }

  free(): void {
    this.#forms.free();
    this.#candidates.free();
    for (const array of [this.#query, this.#projection, this.#specialMatrix, this.#vector]) {
      this.#kernels.free(array);
    }
  }

  #checkShapes(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width: number,
  ): void {
    const count = slots.length;
    const perCandidate = Math.max(width, this.#prior.length - 2);
    if (query !== null && query.length !== this.#vectors.dimensions) {
      throw new RangeError(`the query must have ${this.#vectors.dimensions} dimensions, got ${query.length}`);
    }
    if (similarity.length !== count || extras.length !== count * perCandidate) {
      throw new RangeError(
        `${count} candidates have ${count} similarities and ${count * perCandidate} extras, ` +
          `got ${similarity.length} and ${extras.length}`,
      );
    }
    for (const slot of slots) {
      if (!(slot >= 0 && slot < this.#vectors.capacity)) throw new RangeError(`there is no slot ${slot}`);
    }
  }

  /** Copies the candidates to kernel memory and writes θ₀ᵀx of each. */
  #takeCandidates(
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width: number,
    base: Float64Array,
  ): void {
    const specials = this.#prior.length;
    const count = slots.length;
    if (count > this.#candidates.capacity) {
      this.#candidates.free();
      this.#candidates = new CandidateArrays(this.#kernels, Math.ceil(count * 1.5), specials);
    }
    const { special } = this.#candidates;
    const prior = this.#prior;
    this.#candidates.slots.set(slots);
    for (let i = 0, z = 0; i < count; i++) {
      let sum = prior[0] * similarity[i] + prior[1];
      special[z++] = similarity[i];
      special[z++] = 1;
      for (let k = 2; k < specials; k++) {
        const value = extras[i * width + k - 2];
        special[z++] = value;
        sum += prior[k] * value;
      }
      base[i] = sum;
    }
  }

  /** M over the z block, its upper triangle. */
  #readSpecialMatrix(): void {
    const { inverse } = this.#solution;
    const specials = this.#prior.length;
    const from = inverse.size - specials;
    for (let k = 0; k < specials; k++) {
      for (let l = k; l < specials; l++) {
        this.#specialMatrix[k * specials + l] = inverse.element(from + k, from + l);
      }
    }
  }

  #finish({ mean, base, gain, uncertainty }: SemanticScores): void {
    const { gain: gains, variance } = this.#candidates;
    for (let i = 0; i < base.length; i++) {
      gain[i] = gains[i];
      mean[i] = base[i] + gains[i];
      uncertainty[i] = Math.sqrt(Math.max(0, variance[i]));
    }
  }

  #cache(): FormCache {
    const { matrix, size, updates, scales, capacity, folded, head } = this.#solution.inverse;
    const { stamps, quadratic, cross } = this.#forms;
    const dimensions = this.#vectors.dimensions;
    const specials = this.#prior.length;
    const vector = this.#vector;
    return {
      matrix,
      size,
      dimensions,
      specials,
      updates,
      scales,
      capacity,
      folded,
      head,
      stamps,
      quadratic,
      cross,
      vector,
    };
  }
}
