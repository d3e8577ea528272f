import { padded, rowStart } from '../../../bandit/kernels/symmetric-layout.ts';
import { dot } from './typescript-vectors.ts';

/** See `Kernels.symmetricTimes`. Every element is read once and used twice: for its row and for its mirror. */
export function symmetricTimes(
  matrix: Float64Array,
  size: number,
  x: Float64Array,
  columns: number,
  y: Float64Array,
): void {
  const width = padded(size);
  const used = padded(columns);
  y.fill(0, 0, width);
  for (let row = 0; row < used; row += 4) {
    const r0 = rowStart(size, row);
    const step = width - row;
    const r1 = r0 + step;
    const r2 = r1 + step;
    const r3 = r2 + step;
    const x0 = x[row];
    const x1 = x[row + 1];
    const x2 = x[row + 2];
    const x3 = x[row + 3];
    // Even and odd columns are summed apart, as the two lanes of a SIMD register are.
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    let b0 = 0;
    let b1 = 0;
    let b2 = 0;
    let b3 = 0;
    const diagonal = row + 4;
    for (let column = row; column < diagonal; column += 2) {
      const even = x[column];
      const odd = x[column + 1];
      a0 += matrix[r0 + column] * even;
      b0 += matrix[r0 + column + 1] * odd;
      a1 += matrix[r1 + column] * even;
      b1 += matrix[r1 + column + 1] * odd;
      a2 += matrix[r2 + column] * even;
      b2 += matrix[r2 + column + 1] * odd;
      a3 += matrix[r3 + column] * even;
      b3 += matrix[r3 + column + 1] * odd;
    }
    for (let column = diagonal; column < used; column += 2) {
      const even = x[column];
      const odd = x[column + 1];
      const m0 = matrix[r0 + column];
      const m1 = matrix[r1 + column];
      const m2 = matrix[r2 + column];
      const m3 = matrix[r3 + column];
      a0 += m0 * even;
      a1 += m1 * even;
      a2 += m2 * even;
      a3 += m3 * even;
      y[column] += m0 * x0 + m1 * x1 + (m2 * x2 + m3 * x3);
      const n0 = matrix[r0 + column + 1];
      const n1 = matrix[r1 + column + 1];
      const n2 = matrix[r2 + column + 1];
      const n3 = matrix[r3 + column + 1];
      b0 += n0 * odd;
      b1 += n1 * odd;
      b2 += n2 * odd;
      b3 += n3 * odd;
      y[column + 1] += n0 * x0 + n1 * x1 + (n2 * x2 + n3 * x3);
    }
    for (let column = Math.max(used, diagonal); column < width; column++) {
      const left = matrix[r0 + column] * x0 + matrix[r1 + column] * x1;
      y[column] += left + (matrix[r2 + column] * x2 + matrix[r3 + column] * x3);
    }
    y[row] += a0 + b0;
    y[row + 1] += a1 + b1;
    y[row + 2] += a2 + b2;
    y[row + 3] += a3 + b3;
  }
}

/** See `Kernels.symmetricForms`: the square on the diagonal once, what lies right of it twice. */
export function symmetricForms(
  matrix: Float64Array,
  size: number,
  x: Float64Array,
  count: number,
  out: Float64Array,
): void {
  const width = padded(size);
  out.fill(0, 0, count);
  const forms = [0, 0, 0, 0];
  for (let row = 0; row < width; row += 4) {
    for (let i = 0, v = 0; i < count; i++, v += width) {
      for (let r = 0; r < 4; r++) {
        const m = rowStart(size, row + r);
        // Even and odd columns are summed apart, as the two lanes of a SIMD register are.
        let even = 0;
        let odd = 0;
        for (let column = row + 4; column < width; column += 2) {
          even += matrix[m + column] * x[v + column];
          odd += matrix[m + column + 1] * x[v + column + 1];
        }
        const d = m + row;
        const left = matrix[d] * x[v + row] + matrix[d + 2] * x[v + row + 2];
        const right = matrix[d + 1] * x[v + row + 1] + matrix[d + 3] * x[v + row + 3];
        forms[r] = x[v + row + r] * (left + right + 2 * (even + odd));
      }
      out[i] += forms[0] + forms[1] + (forms[2] + forms[3]);
    }
  }
}

/** See `Kernels.symmetricAdd`. Two rows and four updates a pass: M is read and written a quarter as often. */
export function symmetricAdd(
  matrix: Float64Array,
  size: number,
  updates: Float64Array,
  scales: Float64Array,
  first: number,
  count: number,
): void {
  const width = padded(size);
  for (let row = 0; row < width; row += 2) {
    const from = row & ~3;
    const upper = rowStart(size, row);
    const lower = upper + width - from;
    let k = first;
    for (; k + 4 <= first + count; k += 4) {
      const u0 = k * width;
      const u1 = u0 + width;
      const u2 = u1 + width;
      const u3 = u2 + width;
      const a0 = scales[k] * updates[u0 + row];
      const a1 = scales[k + 1] * updates[u1 + row];
      const a2 = scales[k + 2] * updates[u2 + row];
      const a3 = scales[k + 3] * updates[u3 + row];
      const b0 = scales[k] * updates[u0 + row + 1];
      const b1 = scales[k + 1] * updates[u1 + row + 1];
      const b2 = scales[k + 2] * updates[u2 + row + 1];
      const b3 = scales[k + 3] * updates[u3 + row + 1];
      for (let column = from; column < width; column++) {
        const v0 = updates[u0 + column];
        const v1 = updates[u1 + column];
        const v2 = updates[u2 + column];
        const v3 = updates[u3 + column];
        const a = upper + column;
        const b = lower + column;
        matrix[a] = matrix[a] + a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3;
        matrix[b] = matrix[b] + b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3;
      }
    }
    for (; k < first + count; k++) {
      const u = k * width;
      const a0 = scales[k] * updates[u + row];
      const b0 = scales[k] * updates[u + row + 1];
      for (let column = from; column < width; column++) {
        matrix[upper + column] += a0 * updates[u + column];
        matrix[lower + column] += b0 * updates[u + column];
      }
    }
  }
}

/** See `Kernels.lowRankTimes`. */
export function lowRankTimes(
  updates: Float64Array,
  stride: number,
  scales: Float64Array,
  first: number,
  count: number,
  x: Float64Array,
  columns: number,
  y: Float64Array,
): void {
  for (let k = first; k < first + count; k++) {
    const u = k * stride;
    const factor = scales[k] * dot(updates, u, x, 0, columns);
    for (let i = 0; i < stride; i++) y[i] += factor * updates[u + i];
  }
}
