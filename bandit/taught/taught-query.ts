import type { QueryFeatures } from '../policy.ts';

/** More than any query has. */
const TERMS = 2 ** 24;

/** ψ(q) = [e(q); hash(t(q))], its second half as the buckets that are not zero, of length 1 at the most. */
export interface TaughtQuery {
  /** e(q), D dimensions; null without an embedder, which counts as zeros. */
  readonly embedding: Float32Array | null;
  /** Buckets in use, ascending, each below B. */
  readonly buckets: Int32Array;
  /** The value of each of these buckets. */
  readonly weights: Float64Array;
}

/**
 * Hashes the tf–idf weights of a query into B buckets with signs (Weinberger et al. 2009, Feature Hashing for Large
 * Scale Multitask Learning).
 * @param buckets B, a whole number of at least 0; 0 leaves the words out.
 */
export function taughtQuery({ embedding, terms }: QueryFeatures, buckets: number): TaughtQuery {
  const count = buckets > 0 ? terms.terms.length : 0;
  const order = new Float64Array(count);
  for (let i = 0; i < count; i++) order[i] = bucketOf(terms.terms[i], buckets).bucket * TERMS + i;
  order.sort();
  const places = new Int32Array(count);
  const sums = new Float64Array(count);
  let used = 0;
  for (let at = 0; at < count; at++) {
    const term = order[at] % TERMS;
    const { bucket, sign } = bucketOf(terms.terms[term], buckets);
    if (used === 0 || places[used - 1] !== bucket) places[used++] = bucket;
    sums[used - 1] += sign * terms.weights[term];
  }
  const weights = sums.subarray(0, used);
  // Terms are of unit length together, but many that were chosen to meet in one bucket add up to far more.
  let square = 0;
  for (let i = 0; i < used; i++) square += weights[i] * weights[i];
  if (square > 1) for (let i = 0; i < used; i++) weights[i] /= Math.sqrt(square);
  return { embedding, buckets: places.subarray(0, used), weights };
}

/** With c the mixed 32 bits of the term: bucket ⌊c/2⌋ mod B, and the sign that c's lowest bit says. */
export function bucketOf(term: number, buckets: number): { bucket: number; sign: 1 | -1 } {
  const mixed = mix(term);
  return { bucket: (mixed >>> 1) % buckets, sign: (mixed & 1) === 1 ? 1 : -1 };
}

/** The finaliser of MurmurHash3 (Appleby): terms are FNV-1a hashes, whose low bits are weak. */
function mix(term: number): number {
  let hash = term ^ (term >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
