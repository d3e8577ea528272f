/** Count, sums and sums of products of deviations: everything that is kept of a sample. Plain JSON. */
export interface MomentsState {
  readonly count: number;
  readonly sums: readonly number[];
  /** Σ(vᵢ − meanᵢ)(vⱼ − meanⱼ) for j ≤ i, row by row. */
  readonly products: readonly number[];
}

/**
 * First and second moments of vectors, updated one vector at a time (Welford 1962) and mergeable (Chan, Golub &
 * LeVeque 1979), so they never need the data again. Same calls in the same order, same bits.
 */
export class Moments {
  readonly dimensions: number;
  readonly #sums: Float64Array;
  readonly #products: Float64Array;
  readonly #delta: Float64Array;
  #count = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#sums = new Float64Array(dimensions);
    this.#products = new Float64Array((dimensions * (dimensions + 1)) / 2);
    this.#delta = new Float64Array(dimensions);
  }

  get count(): number {
    return this.#count;
  }

  /** Exact for whole numbers. */
  sum(i: number): number {
    return this.#sums[i];
  }

  /** 0 as long as there is nothing. */
  mean(i: number): number {
    return this.#count > 0 ? this.#sums[i] / this.#count : 0;
  }

  /** Sample covariance of columns i and j (divisor count − 1); 0 below two vectors. */
  covariance(i: number, j: number): number {
    if (this.#count < 2) return 0;
    const covariance = this.#products[place(Math.max(i, j), Math.min(i, j))] / (this.#count - 1);
    // A variance that rounding took below zero is zero.
    return i === j ? Math.max(0, covariance) : covariance;
  }

  /** Sample covariance of the two linear combinations aᵀv and bᵀv. */
  combinedCovariance(a: ArrayLike<number>, b: ArrayLike<number>): number {
    let sum = 0;
    for (let i = 0; i < this.dimensions; i++) {
      for (let j = 0; j < this.dimensions; j++) sum += a[i] * b[j] * this.covariance(i, j);
    }
    return sum;
  }

  /** @throws RangeError for NaN or ±∞; nothing changed then. */
  add(values: ArrayLike<number>): void {
    checkFinite(values, this.dimensions);
    const count = this.#count + 1;
    for (let i = 0; i < this.dimensions; i++) this.#delta[i] = values[i] - this.mean(i);
    this.#addProducts(this.#delta, (count - 1) / count);
    for (let i = 0; i < this.dimensions; i++) this.#sums[i] += values[i];
    this.#count = count;
  }

  /**
   * Replaces a vector that was added before (because a unit's totals grew). With the deviations a and b
   * of the old and the new one and the shift s = (b − a)/n of the mean, M += bbᵀ − aaᵀ − n·ssᵀ.
   * @throws RangeError for NaN or ±∞; nothing changed then.
   */
  replace(before: ArrayLike<number>, after: ArrayLike<number>): void {
    checkFinite(after, this.dimensions);
    const delta = this.#delta;
    for (let i = 0; i < this.dimensions; i++) delta[i] = after[i] - this.mean(i);
    this.#addProducts(delta, 1);
    for (let i = 0; i < this.dimensions; i++) delta[i] = before[i] - this.mean(i);
    this.#addProducts(delta, -1);
    for (let i = 0; i < this.dimensions; i++) {
      const grown = after[i] - before[i];
      delta[i] = grown / this.#count;
      this.#sums[i] += grown;
    }
    this.#addProducts(delta, -this.#count);
  }

  merge(other: Moments): void {
    if (other.dimensions !== this.dimensions) {
      throw new RangeError(`cannot merge moments of ${other.dimensions} columns into ${this.dimensions}`);
    }
    const count = this.#count + other.#count;
    if (count === 0) return;
    for (let i = 0; i < this.dimensions; i++) this.#delta[i] = other.mean(i) - this.mean(i);
    for (let i = 0; i < this.#products.length; i++) this.#products[i] += other.#products[i];
    this.#addProducts(this.#delta, (this.#count * other.#count) / count);
    for (let i = 0; i < this.dimensions; i++) this.#sums[i] += other.#sums[i];
    this.#count = count;
  }

  save(): MomentsState {
    return { count: this.#count, sums: [...this.#sums], products: [...this.#products] };
  }

  static load(state: MomentsState): Moments {
    const moments = new Moments(state.sums.length);
    if (state.products.length !== moments.#products.length) {
      throw new RangeError(
        `${state.sums.length} sums need ${moments.#products.length} products of deviations`,
      );
    }
    moments.#count = state.count;
    moments.#sums.set(state.sums);
    moments.#products.set(state.products);
    return moments;
  }

  #addProducts(delta: Float64Array, scale: number): void {
    let at = 0;
    for (let i = 0; i < this.dimensions; i++) {
      const scaled = delta[i] * scale;
      for (let j = 0; j <= i; j++) this.#products[at++] += scaled * delta[j];
    }
  }
}

function place(row: number, column: number): number {
  return (row * (row + 1)) / 2 + column;
}

function checkFinite(values: ArrayLike<number>, dimensions: number): void {
  if (values.length !== dimensions) {
    throw new RangeError(`expected ${dimensions} values, one per column, and got ${values.length}`);
  }
  for (let i = 0; i < dimensions; i++) {
    if (!Number.isFinite(values[i]))
      throw new RangeError(`column ${i} is ${values[i]}: only finite numbers count`);
  }
}
