import type { Random } from '../random.ts';

/**
 * Standard Gumbel noise for each of n candidates: −ln(−ln U). The counter is replicate·n + index, where the
 * index is the candidate's place among those that are drawn from, in the order in which they are logged with the
 * decision; replicate 0 is the draw that counts, the others are only for estimating. Whoever has the decision's
 * key and the list can draw again.
 */
export function gumbelNoise(count: number, random: Random, replicate = 0): Float64Array {
  const noise = new Float64Array(count);
  for (let i = 0; i < count; i++) noise[i] = -Math.log(-Math.log(random.uniform(replicate * count + i)));
  return noise;
}
