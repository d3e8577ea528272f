import type { ToolVectors } from '../../bandit/tool-vectors.ts';

/**
 * The mean silhouette coefficient (Rousseeuw 1987) of the clusters that k-means finds among unit vectors, −1…1, by the distance
 * 1 − cosine: how much nearer a vector is to its own cluster than to the next one. The paper takes a high one for overlapping tools
 * (appendix E.1). Means of cosines within a cluster are cosines with its mean, so no pair is compared.
 */
export function silhouette(vectors: ToolVectors, slots: readonly number[], k: number, seed: number): number {
  const rows = slots.map((slot) => vectors.get(slot).slice());
  const clusters = kMeans(rows, k, seed);
  const sums = Array.from({ length: k }, () => new Float64Array(vectors.dimensions));
  const sizes = new Array<number>(k).fill(0);
  for (const [at, row] of rows.entries()) {
    sizes[clusters[at]]++;
    for (let i = 0; i < row.length; i++) sums[clusters[at]][i] += row[i];
  }
  let total = 0;
  for (const [at, row] of rows.entries()) {
    const own = clusters[at];
    if (sizes[own] === 1) continue;
    const within = 1 - (dot(row, sums[own]) - dot(row, row)) / (sizes[own] - 1);
    let next = Infinity;
    for (let other = 0; other < k; other++) {
      if (other === own || sizes[other] === 0) continue;
      next = Math.min(next, 1 - dot(row, sums[other]) / sizes[other]);
    }
    total += (next - within) / Math.max(within, next);
  }
  return total / rows.length;
}

/** Returns the cluster of every row: spherical k-means from k-means++, until nothing moves or 30 rounds are done. */
function kMeans(rows: readonly Float32Array[], k: number, seed: number): Int32Array {
  const random = randomNumbers(seed);
  const centres: Float64Array[] = [Float64Array.from(rows[Math.floor(random() * rows.length)])];
  const nearest = rows.map((row) => 1 - dot(row, centres[0]));
  while (centres.length < k) {
    const weights = nearest.map((distance) => Math.max(0, distance) ** 2);
    let at = random() * weights.reduce((sum, weight) => sum + weight, 0);
    let chosen = 0;
    for (; chosen < rows.length - 1 && at > weights[chosen]; chosen++) at -= weights[chosen];
    const centre = Float64Array.from(rows[chosen]);
    centres.push(centre);
    for (const [i, row] of rows.entries()) nearest[i] = Math.min(nearest[i], 1 - dot(row, centre));
  }
  const clusters = new Int32Array(rows.length).fill(-1);
  for (let round = 0; round < 30; round++) {
    let moved = 0;
    for (const [i, row] of rows.entries()) {
      let best = 0;
      let most = -Infinity;
      for (const [cluster, centre] of centres.entries()) {
        const cosine = dot(row, centre);
        if (cosine > most) [best, most] = [cluster, cosine];
      }
      if (clusters[i] !== best) moved++;
      clusters[i] = best;
    }
    if (moved === 0) break;
    for (const centre of centres) centre.fill(0);
    for (const [i, row] of rows.entries())
      for (let d = 0; d < row.length; d++) centres[clusters[i]][d] += row[d];
    for (const centre of centres) {
      const length = Math.sqrt(dot(centre, centre));
      if (length > 0) for (let d = 0; d < centre.length; d++) centre[d] /= length;
    }
  }
  return clusters;
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Numbers of 0…1 that depend on the seed alone (Mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
