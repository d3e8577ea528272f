import { cosine } from '../tool-vectors.ts';

/** Cosine from which on texts are near duplicates; from there to 1 the discount rises from nothing to the most. */
const NEAR = 0.95;
/** Largest discount. It is not all: where there is room, a duplicate is better than nothing, and words may tell it apart where vectors do not. */
const MOST = 0.9;

/**
 * Returns gains in which near duplicates are worth less: g_j·(1 − .9·min(1, (cos − .95)/.05)) with the largest cosine to a candidate
 * that is ahead of it. Ahead is what is forced, then what has the larger gain, of equal ones the cheaper, then the first; so one of
 * each group keeps all of its gain. What can never be chosen (gain ≤ 0, or dearer than the budget) discounts nothing. All-zero vectors resemble nothing.
 */
export function discountNearDuplicates(
  gain: Float64Array,
  tokens: Float64Array,
  vectors: readonly Float32Array[],
  forced: readonly number[],
  budget: number,
): Float64Array {
  const discounted = gain.slice();
  const order: number[] = [];
  for (let index = 0; index < gain.length; index++) {
    if (gain[index] > 0 && tokens[index] <= budget && !forced.includes(index)) order.push(index);
  }
  order.sort((a, b) => gain[b] - gain[a] || tokens[a] - tokens[b] || a - b);
  order.unshift(...forced);
  for (let place = Math.max(1, forced.length); place < order.length; place++) {
    const index = order[place];
    let nearest = NEAR;
    for (let ahead = 0; ahead < place; ahead++) {
      nearest = Math.max(nearest, cosine(vectors[order[ahead]], vectors[index]));
    }
    discounted[index] *= 1 - MOST * Math.min(1, (nearest - NEAR) / (1 - NEAR));
  }
  return discounted;
}
