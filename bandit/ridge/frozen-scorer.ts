import { float64Columns } from '../columns.ts';
import type { Kernels } from '../kernels/kernels.ts';
import { padded, symmetricLength, unpackSymmetric } from '../kernels/symmetric-layout.ts';
import type { ToolVectors } from '../tool-vectors.ts';
import type { RidgeSolution } from './ridge-solution.ts';
import type { SemanticScores } from './semantic-scorer.ts';

/** Values of a tool that do not change as long as nothing is learned, M = A⁻¹. */
interface FrozenTool {
  /** Version of the vector that it was made from. */
  readonly version: number;
  /** M_qφ·φ. */
  readonly row: Float64Array;
  /** φᵀMφ. */
  readonly form: number;
  /** M_zφ·φ. */
  readonly cross: Float64Array;
  /** δ_φ·φ. */
  readonly gain: number;
}

/**
 * Scores like `SemanticScorer` (to about 1e-12), for a ridge that does not learn any more. Only φᵀM_φq·q depends on query and
 * tool together; with M_qφ·φ kept per tool it takes D operations per candidate instead of 2D, and the part of the query alone
 * D² instead of d·D.
 */
export class FrozenScorer {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #solution: RidgeSolution;
  readonly #prior: Float64Array;
  /** By slot. */
  readonly #tools: FrozenTool[] = [];
  /** M_qq, as `symmetric-layout.ts` says. */
  readonly #queryMatrix: Float64Array;
  /** M_zq, row by row; M_zz. */
  readonly #specialRows: readonly Float64Array[];
  readonly #specialMatrix: Float64Array;
  /** Scratch: z of a candidate, and M_zq·q. */
  readonly #special: Float64Array;
  readonly #specialProjection: Float64Array;
  readonly #query: Float64Array;
  readonly #form: Float64Array;
  /** qᵀM_qq·q of the queries that were prepared. */
  #forms = new Map<Float32Array, number>();
  readonly #x: Float64Array;
  readonly #y: Float64Array;

  /** `prior` is θ₀ over z, the only place where it is not zero. */
  constructor(kernels: Kernels, vectors: ToolVectors, solution: RidgeSolution, prior: Float64Array) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#solution = solution;
    this.#prior = prior;
    const { dimensions } = vectors;
    const { inverse, size } = solution;
    const specials = [...prior.keys()].map((k) => 2 * dimensions + k);
    this.#queryMatrix = kernels.allocateFloat64(symmetricLength(dimensions));
    unpackSymmetric(leadingBlock(inverse.packed(), size, dimensions), dimensions, this.#queryMatrix);
    this.#specialMatrix = Float64Array.from(
      specials.flatMap((k) => specials.map((l) => inverse.element(Math.min(k, l), Math.max(k, l)))),
    );
    this.#special = new Float64Array(prior.length);
    this.#specialProjection = new Float64Array(prior.length);
    this.#specialRows = specials.map((k) => {
      const row = kernels.allocateFloat64(dimensions);
      for (let i = 0; i < dimensions; i++) row[i] = inverse.element(i, k);
      return row;
    });
    this.#query = kernels.allocateFloat64(padded(dimensions));
    this.#form = kernels.allocateFloat64(1);
    this.#x = kernels.allocateFloat64(padded(size));
    this.#y = kernels.allocateFloat64(padded(size));
  }

  /** Reads M once for all of these queries, which are scored next. The same arrays, unchanged, have to come to `score`. */
  prepare(queries: readonly Float32Array[]): void {
    const kernels = this.#kernels;
    const { dimensions } = this.#vectors;
    const width = padded(dimensions);
    const rows = kernels.allocateFloat64(queries.length * width);
    const forms = kernels.allocateFloat64(queries.length);
    for (const [i, query] of queries.entries()) {
      if (query.length === dimensions) rows.set(query, i * width);
    }
    kernels.symmetricForms(this.#queryMatrix, dimensions, rows, queries.length, forms);
    this.#forms = new Map(queries.map((query, i) => [query, forms[i]]));
    kernels.free(rows);
    kernels.free(forms);
  }

  /** See `SemanticRidge.score`. */
  score(
    query: Float32Array | null,
    slots: Int32Array,
    similarity: Float64Array,
    extras: Float32Array,
    width = this.#prior.length - 2,
  ): SemanticScores {
    const kernels = this.#kernels;
    const { dimensions } = this.#vectors;
    const { gain: weights } = this.#solution;
    const q = this.#query;
    if (query !== null && query.length !== dimensions) {
      throw new RangeError(`the query must have ${dimensions} dimensions, got ${query.length}`);
    }
    if (query === null) q.fill(0);
    else q.set(query);
    const queryForm = (query === null ? 0 : this.#forms.get(query)) ?? this.#formOfQuery();
    const queryGain = kernels.dot(weights, q, dimensions);
    const specials = this.#prior.length;
    const projection = this.#specialProjection;
    for (let k = 0; k < specials; k++) projection[k] = kernels.dot(this.#specialRows[k], q, dimensions);

    const count = slots.length;
    const [means, bases, gains, uncertainties] = float64Columns(count, 4);
    const prior = this.#prior;
    const matrix = this.#specialMatrix;
    const z = this.#special;
    z[1] = 1;
    for (let i = 0; i < count; i++) {
      z[0] = similarity[i];
      for (let k = 2; k < specials; k++) z[k] = extras[i * width + k - 2];
      const tool = this.#tool(slots[i]);
      const { cross } = tool;
      let base = 0;
      let gain = queryGain + tool.gain;
      let form = queryForm + tool.form;
      let double = kernels.dot(tool.row, q, dimensions);
      for (let k = 0; k < specials; k++) {
        const value = z[k];
        base += prior[k] * value;
        gain += weights[2 * dimensions + k] * value;
        double += value * (projection[k] + cross[k]);
        let above = 0;
        for (let l = k + 1; l < specials; l++) above += matrix[k * specials + l] * z[l];
        form += value * (matrix[k * specials + k] * value + 2 * above);
      }
      bases[i] = base;
      gains[i] = gain;
      means[i] = base + gain;
      uncertainties[i] = Math.sqrt(Math.max(0, form + 2 * double));
    }
    return { mean: means, base: bases, gain: gains, uncertainty: uncertainties };
  }

  free(): void {
    const rows = this.#tools.flatMap(({ row }) => [row]); // without the holes
    const own = [this.#queryMatrix, this.#query, this.#form, this.#x, this.#y];
    for (const array of [...own, ...rows, ...this.#specialRows]) this.#kernels.free(array);
  }

  #formOfQuery(): number {
    this.#kernels.symmetricForms(this.#queryMatrix, this.#vectors.dimensions, this.#query, 1, this.#form);
    return this.#form[0];
  }

  #tool(slot: number): FrozenTool {
    const version = this.#vectors.version(slot);
    const known = this.#tools[slot] as FrozenTool | undefined;
    if (known !== undefined && known.version === version) return known;
    const tool = this.#make(slot, version, known?.row);
    this.#tools[slot] = tool;
    return tool;
  }

  #make(slot: number, version: number, reused: Float64Array | undefined): FrozenTool {
    const kernels = this.#kernels;
    const { dimensions } = this.#vectors;
    const { gain: weights, inverse, size } = this.#solution;
    const vector = this.#vectors.get(slot);
    this.#x.set(vector, dimensions);
    inverse.times(this.#x, size, this.#y);
    const row = reused ?? kernels.allocateFloat64(dimensions);
    row.set(this.#y.subarray(0, dimensions));
    let gain = 0;
    for (let i = 0; i < dimensions; i++) gain += weights[dimensions + i] * vector[i];
    return {
      version,
      row,
      form: kernels.dot(this.#x, this.#y, size),
      cross: this.#y.slice(2 * dimensions, 2 * dimensions + this.#prior.length),
      gain,
    };
  }
}

/** The first `count` rows and columns of a packed symmetric matrix, packed. */
function leadingBlock(packed: Float64Array, size: number, count: number): Float64Array {
  const block = new Float64Array((count * (count + 1)) / 2);
  for (let row = 0, from = 0, to = 0; row < count; row++) {
    block.set(packed.subarray(from, from + count - row), to);
    from += size - row;
    to += count - row;
  }
  return block;
}
