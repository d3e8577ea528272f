import { Cholesky } from '../ridge/cholesky.ts';

/** An example: a unit vector, and the index of the class that it is of. */
export interface ClassExample {
  readonly embedding: Float32Array;
  readonly of: number;
}

/** λ of the ridge. With unit vectors it is worth as much as so many examples that say 0 in every direction. */
const RIDGE = 1;
/** How far the score of a class has to be ahead of the next one, and of 0, which stands for no class. */
export const CLASS_MARGIN = 0.15;

/**
 * Trains a linear classifier: for each class a ridge regression of 1 for its examples and 0 for those of the others (one against the
 * rest; Rifkin & Klautau 2004), all of them by one Cholesky factor:
 *
 *   W = (Xᵀ D X + λI)⁻¹ Xᵀ D Y
 *
 * D weighs the classes alike, however many examples each has: N/(classes · its examples). There is no intercept, so that what resembles no
 * example has scores near 0. Deterministic: the same examples in the same order give the same bits. Pauses after every example.
 *
 * @param classes how many there are; one without examples has a row of zeros and is never chosen
 * @returns a row of weights per class
 * @throws RangeError when a vector has another length, a number is not finite, or a class is none
 */
export function* trainOneVsRest(
  examples: readonly ClassExample[],
  classes: number,
  dimensions: number,
): Generator<void, Float32Array> {
  const counts = new Float64Array(classes);
  for (const { embedding, of } of examples) {
    if (embedding.length !== dimensions) {
      throw new RangeError(`An example has ${dimensions} numbers, not ${embedding.length}.`);
    }
    if (!embedding.every(Number.isFinite))
      throw new RangeError('An example has a number that is not finite.');
    if (!(Number.isInteger(of) && of >= 0 && of < classes)) throw new RangeError(`There is no class ${of}.`);
    counts[of]++;
  }
  const used = counts.filter((count) => count > 0).length;
  const gram = new Float64Array((dimensions * (dimensions + 1)) / 2);
  const sums = Array.from({ length: classes }, () => new Float64Array(dimensions));
  for (const { embedding, of } of examples) {
    const weight = examples.length / (used * counts[of]);
    for (let row = 0, at = 0; row < dimensions; row++) {
      const value = weight * embedding[row];
      sums[of][row] += value;
      for (let column = row; column < dimensions; column++) gram[at++] += value * embedding[column];
    }
    yield;
  }
  for (let row = 0, at = 0; row < dimensions; at += dimensions - row, row++) gram[at] += RIDGE;
  const factor = Cholesky.of(gram, dimensions);
  const weights = new Float32Array(classes * dimensions);
  for (const [of, sum] of sums.entries()) {
    if (counts[of] > 0) weights.set(factor.solve(sum), of * dimensions);
    yield;
  }
  return weights;
}

/**
 * Returns the class of a vector, and how far ahead of the next one it is; null if that is less than `CLASS_MARGIN`.
 * @param weights as `trainOneVsRest` returns them
 */
export function classOf(
  weights: Float32Array,
  embedding: Float32Array,
): { readonly of: number; readonly margin: number } | null {
  const dimensions = embedding.length;
  let [best, next, of] = [0, 0, -1];
  for (let row = 0; row * dimensions < weights.length; row++) {
    let score = 0;
    for (let i = 0; i < dimensions; i++) score += weights[row * dimensions + i] * embedding[i];
    if (score > best) [best, next, of] = [score, best, row];
    else if (score > next) next = score;
  }
  const margin = best - next;
  return of >= 0 && margin >= CLASS_MARGIN ? { of, margin } : null;
}
