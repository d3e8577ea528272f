import type { QueryFeatures } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';

/** Queries that were asked before and are remembered, and others that are asked now. */
export interface Cases {
  readonly remembered: readonly QueryFeatures[];
  readonly asked: readonly QueryFeatures[];
}

const SUBJECTS = 200;
const KINDS = 1000;
const COMMON_WORDS = 3000;

/**
 * Made-up queries: each is of one of 1,000 kinds, which belong to 200 subjects. Half of the words go with the kind,
 * the others are common ones. Vectors are sums of windows of one long row of random numbers: near enough to
 * random, and quick to make.
 */
export function madeUpCases(count: number, asked: number, dimensions: number): Cases {
  const random = randomFor('bench/memory');
  const noise = Float32Array.from({ length: 1 << 20 }, (_, i) => random.uniform(i) - 0.5);
  const window = (at: number): Float32Array => {
    const start = (at * 7919 + 13) % (noise.length - dimensions);
    return noise.subarray(start, start + dimensions);
  };
  const queryOf = (at: number): QueryFeatures => {
    const draw = (i: number): number => random.uniform(2 ** 24 + 16 * at + i);
    const kind = Math.floor(KINDS * draw(0) ** 1.5);
    const subject = kind % SUBJECTS;
    const own = window(SUBJECTS + KINDS + at);
    const [near, far] = [window(SUBJECTS + kind), window(subject)];
    const vector = own.map((value, i) => 0.8 * value + near[i] + 0.7 * far[i]);
    const words = Array.from({ length: 12 }, (_, i) =>
      i < 6
        ? COMMON_WORDS + 20 * kind + Math.floor(20 * draw(i + 1))
        : Math.floor(COMMON_WORDS * draw(i + 1) ** 3),
    );
    const terms = Uint32Array.from(new Set(words)).sort();
    const weights = new Float32Array(terms.length).fill(1 / Math.sqrt(terms.length));
    return { embedding: unit(vector), terms: { terms, weights } };
  };
  const all = Array.from({ length: count + asked }, (_, at) => queryOf(at));
  return { remembered: all.slice(0, count), asked: all.slice(count) };
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
