import { randomFor } from '../random.ts';

/** Chosen on the validation part of bench/context.ts. */
const RANK = 32;
const TEMPERATURE = 0.05;
const STEP = 0.003;
const [FIRST_KEPT, SECOND_KEPT] = [0.9, 0.999];
const SMALL = 1e-8;

/** A query, and the items of its user with which of them were relevant, one at least. Vectors are embeddings of unit length, d numbers. */
export interface MapExample {
  readonly query: Float32Array;
  readonly items: readonly Float32Array[];
  readonly relevant: readonly boolean[];
}

/**
 * Which items a query means beyond what its words say: a linear map of the embedding of the query, I + V·Uᵀ of rank 32, such that the
 * product of the mapped query and an item is large for relevant items. It is trained by a softmax over all items of the user (InfoNCE,
 * van den Oord et al. 2018) with Adam (Kingma & Ba 2015), one example at a time. Untrained it maps nothing. Deterministic.
 */
export class SemanticMap {
  readonly dimensions: number;
  /** U and V, d × 32 each. */
  readonly #u: Float32Array;
  readonly #v: Float32Array;
  #training: { readonly u: Moments; readonly v: Moments; examples: number } | null = null;

  private constructor(u: Float32Array, v: Float32Array) {
    this.dimensions = u.length / RANK;
    this.#u = u;
    this.#v = v;
  }

  /** A map for embeddings of d numbers that leaves them as they are. */
  static untrained(dimensions: number): SemanticMap {
    const random = randomFor('semantic map');
    const size = dimensions * RANK;
    const u = Float32Array.from(
      { length: size },
      (_, at) => (random.uniform(at) - 0.5) / Math.sqrt(dimensions),
    );
    return new SemanticMap(u, new Float32Array(size));
  }

  /** What was saved. @throws RangeError when these are not the numbers of a map */
  static of(saved: Float32Array): SemanticMap {
    if (saved.length === 0 || saved.length % (2 * RANK) !== 0 || !saved.every(Number.isFinite)) {
      throw new RangeError(`A semantic map has 2·${RANK}·d finite numbers; these are ${saved.length}.`);
    }
    return new SemanticMap(saved.slice(0, saved.length / 2), saved.slice(saved.length / 2));
  }

  /** U, then V: 64·d numbers. How training went is not among them. */
  save(): Float32Array {
    const saved = new Float32Array(2 * this.#u.length);
    saved.set(this.#u);
    saved.set(this.#v, this.#u.length);
    return saved;
  }

  /** Returns the mapped query, d numbers, not of unit length. */
  map(query: Float32Array): Float32Array {
    this.#check(query);
    return this.#mapped(query, this.#narrow(query));
  }

  /** Learns one example; one without anything relevant teaches nothing. @throws RangeError for vectors of another length */
  learn({ query, items, relevant }: MapExample): void {
    for (const vector of [query, ...items]) this.#check(vector);
    const count = relevant.filter(Boolean).length;
    if (count === 0) return;
    const narrow = this.#narrow(query);
    const mapped = this.#mapped(query, narrow);
    const logits = items.map((item) => product(mapped, item) / TEMPERATURE);
    const most = Math.max(...logits);
    const exponentials = logits.map((logit) => Math.exp(logit - most));
    const total = exponentials.reduce((sum, one) => sum + one, 0);
    const gradient = new Float64Array(this.dimensions);
    for (const [at, item] of items.entries()) {
      const weight = (exponentials[at] / total - (relevant[at] ? 1 / count : 0)) / TEMPERATURE;
      for (let i = 0; i < gradient.length; i++) gradient[i] += weight * item[i];
    }
    const back = new Float64Array(RANK);
    for (let i = 0; i < gradient.length; i++) {
      for (let r = 0; r < RANK; r++) back[r] += gradient[i] * this.#v[i * RANK + r];
    }
    this.#training ??= { u: new Moments(this.#u.length), v: new Moments(this.#u.length), examples: 0 };
    const { u, v } = this.#training;
    const examples = ++this.#training.examples;
    u.step(this.#u, query, back, examples);
    v.step(this.#v, gradient, narrow, examples);
  }

  /** Uᵀ·query. */
  #narrow(query: Float32Array): Float64Array {
    const narrow = new Float64Array(RANK);
    const u = this.#u;
    let i = 0;
    // Four rows at a time, so that sums are loaded and stored for each fourth; they are added in the same order.
    for (; i + 4 <= query.length; i += 4) {
      const [a, b, c, d] = [query[i], query[i + 1], query[i + 2], query[i + 3]];
      const at = i * RANK;
      for (let r = 0; r < RANK; r++) {
        narrow[r] =
          narrow[r] +
          a * u[at + r] +
          b * u[at + RANK + r] +
          c * u[at + 2 * RANK + r] +
          d * u[at + 3 * RANK + r];
      }
    }
    for (; i < query.length; i++) {
      for (let r = 0; r < RANK; r++) narrow[r] += query[i] * u[i * RANK + r];
    }
    return narrow;
  }

  #mapped(query: Float32Array, narrow: Float64Array): Float32Array {
    const mapped = new Float32Array(query.length);
    const v = this.#v;
    let i = 0;
    // Four sums at a time, which the processor adds up side by side.
    for (; i + 4 <= mapped.length; i += 4) {
      let [a, b, c, d] = [query[i], query[i + 1], query[i + 2], query[i + 3]];
      const at = i * RANK;
      for (let r = 0; r < RANK; r++) {
        const value = narrow[r];
        a += v[at + r] * value;
        b += v[at + RANK + r] * value;
        c += v[at + 2 * RANK + r] * value;
        d += v[at + 3 * RANK + r] * value;
      }
      mapped[i] = a;
      mapped[i + 1] = b;
      mapped[i + 2] = c;
      mapped[i + 3] = d;
    }
    for (; i < mapped.length; i++) {
      let sum = query[i];
      for (let r = 0; r < RANK; r++) sum += v[i * RANK + r] * narrow[r];
      mapped[i] = sum;
    }
    return mapped;
  }

  #check({ length }: Float32Array): void {
    if (length !== this.dimensions) {
      throw new RangeError(`This map is for vectors of ${this.dimensions} numbers, not of ${length}.`);
    }
  }
}

/** The two moments of Adam, for weights whose gradient is the outer product of two vectors. */
class Moments {
  readonly #first: Float64Array;
  readonly #second: Float64Array;

  constructor(size: number) {
    this.#first = new Float64Array(size);
    this.#second = new Float64Array(size);
  }

  step(weights: Float32Array, rows: ArrayLike<number>, columns: Float64Array, steps: number): void {
    const [firstSum, secondSum] = [1 - FIRST_KEPT ** steps, 1 - SECOND_KEPT ** steps];
    for (let i = 0; i < rows.length; i++) {
      for (let r = 0; r < RANK; r++) {
        const at = i * RANK + r;
        const gradient = rows[i] * columns[r];
        this.#first[at] = FIRST_KEPT * this.#first[at] + (1 - FIRST_KEPT) * gradient;
        this.#second[at] = SECOND_KEPT * this.#second[at] + (1 - SECOND_KEPT) * gradient * gradient;
        const size = Math.sqrt(this.#second[at] / secondSum) + SMALL;
        weights[at] -= (STEP * (this.#first[at] / firstSum)) / size;
      }
    }
  }
}

/** Σ aᵢ·bᵢ, in four sums, which the processor adds up side by side. */
export function product(a: Float32Array, b: Float32Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 4 <= a.length; i += 4) {
    first += a[i] * b[i];
    second += a[i + 1] * b[i + 1];
    third += a[i + 2] * b[i + 2];
    fourth += a[i + 3] * b[i + 3];
  }
  for (; i < a.length; i++) first += a[i] * b[i];
  return first + second + (third + fourth);
}
