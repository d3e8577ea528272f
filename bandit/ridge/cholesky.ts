/**
 * Cholesky factor of a symmetric positive definite matrix: A = RᵀR with R upper triangular (Golub & Van Loan,
 * Matrix Computations, 4th ed., 4.2). Matrices are packed: the upper triangle, row by row, n(n+1)/2 elements.
 *
 * Plain typed arrays, no kernels: it also runs in a worker thread that has no kernel memory. Four rows are
 * eliminated at a time, which reads the trailing matrix a quarter as often.
 */
export class Cholesky {
  readonly size: number;
  /** R, packed. */
  readonly factor: Float64Array;

  private constructor(size: number, factor: Float64Array) {
    this.size = size;
    this.factor = factor;
  }

  /** @throws RangeError when the matrix is not positive definite, or not of this size. O(n³/6). */
  static of(packed: Float64Array, size: number): Cholesky {
    if (packed.length !== (size * (size + 1)) / 2) {
      throw new RangeError(`a packed matrix of size ${size} has ${(size * (size + 1)) / 2} elements`);
    }
    const factor = packed.slice();
    let row = 0;
    for (; row + 4 <= size; row += 4) {
      for (let k = row; k < row + 4; k++) eliminate(factor, size, k, row);
      subtractFour(factor, size, row);
    }
    for (let k = row; k < size; k++) eliminate(factor, size, k, row);
    return new Cholesky(size, factor);
  }

  /** The factor of scale·I. */
  static ofIdentity(size: number, scale: number): Cholesky {
    const factor = new Float64Array((size * (size + 1)) / 2);
    for (let row = 0; row < size; row++) factor[rowStart(size, row) + row] = Math.sqrt(scale);
    return new Cholesky(size, factor);
  }

  /** x with Ax = b. O(n²). */
  solve(b: Float64Array): Float64Array {
    return this.solveUpper(this.solveLower(b));
  }

  /** y with Rᵀy = b. */
  solveLower(b: Float64Array): Float64Array {
    const { size, factor } = this;
    const y = b.slice(0, size);
    for (let row = 0; row < size; row++) {
      const start = rowStart(size, row);
      const value = y[row] / factor[start + row];
      y[row] = value;
      for (let j = row + 1; j < size; j++) y[j] -= value * factor[start + j];
    }
    return y;
  }

  /** x with Rx = z. For z ~ N(0, I) this has covariance A⁻¹, which is what Thompson sampling draws. */
  solveUpper(z: Float64Array): Float64Array {
    const { size, factor } = this;
    const x = z.slice(0, size);
    for (let row = size - 1; row >= 0; row--) {
      const start = rowStart(size, row);
      let sum = x[row];
      for (let j = row + 1; j < size; j++) sum -= factor[start + j] * x[j];
      x[row] = sum / factor[start + row];
    }
    return x;
  }

  /** A⁻¹ = R⁻¹R⁻ᵀ, packed. O(n³/3). */
  inverse(): Float64Array {
    const { size } = this;
    const inverted = invertUpper(this.factor, size);
    const inverse = new Float64Array(inverted.length);
    for (let i = 0; i < size; i++) {
      const a = rowStart(size, i);
      for (let j = i; j < size; j++) {
        inverse[a + j] = dot(inverted, a + j, rowStart(size, j) + j, size - j);
      }
    }
    return inverse;
  }

  /**
   * The factor of A + weight·xxᵀ, weight ≥ 0, by Givens rotations (Golub & Van Loan 6.5.4). O(n²).
   * @throws RangeError on a negative or non-finite weight.
   */
  update(x: Float64Array, weight: number): void {
    if (!(weight >= 0 && weight < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`weight must be finite and not negative, got ${weight}`);
    }
    const { size, factor } = this;
    const root = Math.sqrt(weight);
    const rest = new Float64Array(size);
    for (let i = 0; i < size; i++) rest[i] = root * x[i];
    for (let row = 0; row < size; row++) {
      const value = rest[row];
      if (value === 0) continue;
      const start = rowStart(size, row);
      const diagonal = factor[start + row];
      const norm = Math.hypot(diagonal, value);
      const c = diagonal / norm;
      const s = value / norm;
      factor[start + row] = norm;
      for (let j = row + 1; j < size; j++) {
        const above = factor[start + j];
        const below = rest[j];
        factor[start + j] = c * above + s * below;
        rest[j] = c * below - s * above;
      }
    }
  }
}

/** Element (row, column) of a packed matrix is at this + column. */
function rowStart(size: number, row: number): number {
  return row * size - (row * (row + 1)) / 2;
}

/** Row k of the factor, once the rows before `from` have been subtracted from it. */
function eliminate(factor: Float64Array, size: number, k: number, from: number): void {
  const start = rowStart(size, k);
  for (let above = from; above < k; above++) {
    const other = rowStart(size, above);
    const value = factor[other + k];
    for (let j = k; j < size; j++) factor[start + j] -= value * factor[other + j];
  }
  const pivot = factor[start + k];
  if (!(pivot > 0 && pivot < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`the matrix is not positive definite: pivot ${k} is ${pivot}`);
  }
  const root = Math.sqrt(pivot);
  factor[start + k] = root;
  for (let j = k + 1; j < size; j++) factor[start + j] /= root;
}

/** Subtracts the finished rows row … row + 3 from everything below them. */
function subtractFour(factor: Float64Array, size: number, row: number): void {
  const r0 = rowStart(size, row);
  const r1 = rowStart(size, row + 1);
  const r2 = rowStart(size, row + 2);
  const r3 = rowStart(size, row + 3);
  for (let i = row + 4; i < size; i++) {
    const start = rowStart(size, i);
    const f0 = factor[r0 + i];
    const f1 = factor[r1 + i];
    const f2 = factor[r2 + i];
    const f3 = factor[r3 + i];
    for (let j = i; j < size; j++) {
      factor[start + j] -=
        f0 * factor[r0 + j] + f1 * factor[r1 + j] + (f2 * factor[r2 + j] + f3 * factor[r3 + j]);
    }
  }
}

/** R⁻¹, packed: row i is (eᵢ − Σ_{k>i} R_ik·row k) / R_ii, from the last row up. */
function invertUpper(factor: Float64Array, size: number): Float64Array {
  const inverted = new Float64Array(factor.length);
  for (let i = size - 1; i >= 0; i--) {
    const start = rowStart(size, i);
    let k = i + 1;
    for (; k + 4 <= size; k += 4) addFour(inverted, factor, size, start, k);
    for (; k < size; k++) {
      const other = rowStart(size, k);
      const value = factor[start + k];
      for (let j = k; j < size; j++) inverted[start + j] -= value * inverted[other + j];
    }
    const diagonal = factor[start + i];
    for (let j = i + 1; j < size; j++) inverted[start + j] /= diagonal;
    inverted[start + i] = 1 / diagonal;
  }
  return inverted;
}

/** Takes four rows, k … k + 3, off the row of the inverse that begins at `start`. */
function addFour(inverted: Float64Array, factor: Float64Array, size: number, start: number, k: number): void {
  const rows = [0, 1, 2, 3].map((offset) => rowStart(size, k + offset));
  for (let offset = 0; offset < 3; offset++) {
    const value = factor[start + k + offset];
    for (let j = k + offset; j < k + 3; j++) inverted[start + j] -= value * inverted[rows[offset] + j];
  }
  const [r0, r1, r2, r3] = rows;
  const f0 = factor[start + k];
  const f1 = factor[start + k + 1];
  const f2 = factor[start + k + 2];
  const f3 = factor[start + k + 3];
  for (let j = k + 3; j < size; j++) {
    inverted[start + j] -=
      f0 * inverted[r0 + j] + f1 * inverted[r1 + j] + (f2 * inverted[r2 + j] + f3 * inverted[r3 + j]);
  }
}

function dot(a: Float64Array, from: number, to: number, n: number): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[from + i] * a[to + i];
    s1 += a[from + i + 1] * a[to + i + 1];
    s2 += a[from + i + 2] * a[to + i + 2];
    s3 += a[from + i + 3] * a[to + i + 3];
  }
  for (; i < n; i++) s0 += a[from + i] * a[to + i];
  return s0 + s1 + (s2 + s3);
}
