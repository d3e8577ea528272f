/** The largest grade of relevance: gains are 2^grade − 1. */
export const MOST_GRADE = 31;

/** Items that were judged for queries: what a ranker learns from and is measured on. */
export interface RankingSet {
  /** What each feature is called, in the order of the columns: d names. */
  readonly names: readonly string[];
  /** n × d, row by row. NaN: missing. */
  readonly features: Float64Array;
  /** Grades of relevance by row, whole numbers 0…31: n of them. */
  readonly labels: Uint8Array;
  /** Where the rows of each query begin, and n at the end: ascending from 0, one more than there are queries. */
  readonly queryStarts: Uint32Array;
}

/** @throws RangeError when the parts of a set do not fit together, with the row that is wrong */
export function checkRankingSet({ names, features, labels, queryStarts }: RankingSet): void {
  const rows = labels.length;
  if (features.length !== rows * names.length) {
    throw new RangeError(
      `${rows} rows of ${names.length} features are ${rows * names.length} numbers, not ${features.length}.`,
    );
  }
  if (queryStarts.length < 2 || queryStarts[0] !== 0 || queryStarts[queryStarts.length - 1] !== rows) {
    throw new RangeError(`The starts of queries go from 0 to the number of rows, ${rows}.`);
  }
  for (let query = 1; query < queryStarts.length; query++) {
    if (queryStarts[query] < queryStarts[query - 1]) {
      throw new RangeError(`Query ${query} begins before query ${query - 1}.`);
    }
  }
  for (let row = 0; row < rows; row++) {
    if (labels[row] > MOST_GRADE) {
      throw new RangeError(`A grade is 0 to ${MOST_GRADE}; that of row ${row} is ${labels[row]}.`);
    }
  }
  for (let at = 0; at < features.length; at++) {
    if (Math.abs(features[at]) === Number.POSITIVE_INFINITY) {
      const [row, column] = [Math.floor(at / names.length), at % names.length];
      throw new RangeError(
        `A feature is finite, or NaN where it is missing; ${names[column]} of row ${row} is infinite.`,
      );
    }
  }
}

/** 1/log₂(2 + rank), rank from 0 (Järvelin & Kekäläinen 2002). */
export function discount(rank: number): number {
  return 1 / Math.log2(2 + rank);
}

/** What an item of this grade is worth in the first place: 2^grade − 1. */
export function gainOf(grade: number): number {
  return 2 ** grade - 1;
}

/** Returns the largest discounted cumulative gain that the first k items can have; 0 if nothing is relevant. */
export function bestDcg(labels: Uint8Array, k: number): number {
  const sorted = labels.slice().sort();
  let sum = 0;
  for (let rank = 0; rank < Math.min(k, sorted.length); rank++) {
    sum += gainOf(sorted[sorted.length - 1 - rank]) * discount(rank);
  }
  return sum;
}

/** Writes the rows of one query to `order`, by falling score; of equal scores the earlier row comes first. */
export function orderByScore(scores: Float64Array, order: Uint32Array): void {
  for (let row = 0; row < order.length; row++) order[row] = row;
  order.sort((a, b) => scores[b] - scores[a] || a - b);
}

/**
 * Returns the mean normalised discounted cumulative gain of the first k items, 0…1, over the queries that have anything relevant;
 * NaN when no query has.
 * @param scores by row: n of them
 */
export function meanNdcg({ labels, queryStarts }: RankingSet, scores: Float64Array, k: number): number {
  let sum = 0;
  let queries = 0;
  for (let query = 0; query + 1 < queryStarts.length; query++) {
    const [begin, end] = [queryStarts[query], queryStarts[query + 1]];
    const ownLabels = labels.subarray(begin, end);
    const best = bestDcg(ownLabels, k);
    if (best === 0) continue;
    const order = new Uint32Array(end - begin);
    orderByScore(scores.subarray(begin, end), order);
    let dcg = 0;
    for (let rank = 0; rank < Math.min(k, order.length); rank++) {
      dcg += gainOf(ownLabels[order[rank]]) * discount(rank);
    }
    sum += dcg / best;
    queries++;
  }
  return sum / queries;
}
