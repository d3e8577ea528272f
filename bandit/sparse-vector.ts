/** A sparse vector: `terms` are ascending 32-bit hashes without repeats, `weights` their values (same length). */
export interface SparseVector {
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
}

export const EMPTY_SPARSE_VECTOR: SparseVector = { terms: new Uint32Array(0), weights: new Float32Array(0) };

/** Returns a·b, by merging the two ascending term lists; float64. */
export function sparseDot(a: SparseVector, b: SparseVector): number {
  let sum = 0;
  let i = 0;
  let j = 0;
  while (i < a.terms.length && j < b.terms.length) {
    const left = a.terms[i];
    const right = b.terms[j];
    if (left === right) sum += a.weights[i++] * b.weights[j++];
    else if (left < right) i++;
    else j++;
  }
  return sum;
}
