import type { QueryFeatures } from '../policy.ts';

/** ψ(q) = [e(q); hash(t(q))], its second half as the buckets that are not zero, of length 1 at the most. */
export interface TaughtQuery {
  /** e(q), D dimensions; null without an embedder, which counts as zeros. */
  readonly embedding: Float32Array | null;
  /** Buckets in use, ascending, each below B. */
  readonly buckets: readonly number[];
  /** The value of each of these buckets. */
  readonly weights: readonly number[];
}

/**
 * Hashes the tf–idf weights of queries into B buckets with signs (Weinberger et al. 2009, Feature Hashing for Large
 * Scale Multitask Learning).
 */
export class TaughtQueries {
  readonly #buckets: number;
  /** Scratch: the sum of each bucket, and a bit for each that a term met, 32 of them a number. */
  readonly #sums: Float64Array;
  readonly #met: Uint32Array;

  /** @param buckets B, a whole number of at least 0; 0 leaves the words out. */
  constructor(buckets: number) {
    this.#buckets = buckets;
    this.#sums = new Float64Array(buckets);
    this.#met = new Uint32Array(Math.ceil(buckets / 32));
  }

  of({ embedding, terms: { terms, weights: values } }: QueryFeatures): TaughtQuery {
    const sums = this.#sums;
    const met = this.#met;
    const count = this.#buckets > 0 ? terms.length : 0;
    for (let i = 0; i < count; i++) {
      const { bucket, sign } = bucketOf(terms[i], this.#buckets);
      sums[bucket] += sign * values[i];
      met[bucket >>> 5] |= 1 << (bucket & 31);
    }
    const buckets: number[] = [];
    const weights: number[] = [];
    // Terms are of unit length together, but many that were chosen to meet in one bucket add up to far more.
    let square = 0;
    for (let word = 0; word < met.length; word++) {
      for (let left = met[word]; left !== 0; left &= left - 1) {
        const bucket = 32 * word + 31 - Math.clz32(left & -left);
        const weight = sums[bucket];
        buckets.push(bucket);
        weights.push(weight);
        square += weight * weight;
        sums[bucket] = 0;
      }
      met[word] = 0;
    }
    if (square > 1) for (let i = 0; i < weights.length; i++) weights[i] /= Math.sqrt(square);
    return { embedding, buckets, weights };
  }
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
