/** What is known about the candidates of a decision before its slate is drawn: columns of one length. */
export interface CandidateColumns {
  /** What orders them. */
  readonly score: ArrayLike<number>;
  /** Expected reward. */
  readonly mean: ArrayLike<number>;
  readonly trials: ArrayLike<number>;
  readonly similarity: ArrayLike<number>;
  readonly lexical: ArrayLike<number>;
  readonly dense: ArrayLike<number>;
  readonly retrieval: ArrayLike<number>;
}

/** Names of the features, in their order. */
export const SUFFICIENCY_FEATURES = [
  'bias',
  'best mean',
  'margin over the next',
  'margin over what is left out',
  'share of the slate',
  'best similarity',
  'best retrieval score',
  'agreement of words and vectors',
  'tried before',
  'size of the slate',
  'further needs',
] as const;

/** T of the softmax that divides the expectation among candidates. */
const SHARE_TEMPERATURE = 0.05;
const MOST_NEEDS = 4;

/**
 * Features of a decision from which the probability is predicted that its slate suffices. None depends on the draw: they see the
 * candidates in the order of their scores, of which the first k would be served without chance.
 * @param k how many tools are served at most
 * @param needs how many sub-queries the query was taken apart into; 0 or 1: it asks for one thing
 */
export function sufficiencyFeatures(columns: CandidateColumns, k: number, needs: number): Float64Array {
  const { mean, trials, similarity, lexical, dense, retrieval } = columns;
  const order = inOrder(columns.score);
  const first = (column: ArrayLike<number>, at: number): number =>
    at < order.length ? finite(column[order[at]]) : 0;
  const best = first(mean, 0);
  const [bySimilarity, byWords, byVectors] = [similarity, lexical, dense].map(largest);
  const served = order.slice(0, k);
  const agree =
    served.includes(byWords) && served.includes(byVectors) ? (byWords === byVectors ? 1 : 0.5) : 0;
  return Float64Array.of(
    1,
    clamp(best, -1, 2),
    clamp(best - first(mean, 1), 0, 1),
    clamp(best - first(mean, k), 0, 1),
    shareOf(mean, order, k),
    bySimilarity < 0 ? 0 : finite(similarity[bySimilarity]),
    first(retrieval, 0),
    agree,
    Math.min(2, Math.log1p(Math.max(0, first(trials, 0)))),
    Math.log2(1 + Math.min(k, order.length)) / 4,
    Math.min(MOST_NEEDS, Math.max(0, needs - 1)) / MOST_NEEDS,
  );
}

/** Which part of the expectation the first k have, when it is divided among all by a softmax over their means. */
function shareOf(mean: ArrayLike<number>, order: readonly number[], k: number): number {
  if (order.length === 0) return 0;
  let highest = Number.NEGATIVE_INFINITY;
  for (const index of order) highest = Math.max(highest, finite(mean[index]));
  let [served, all] = [0, 0];
  for (const [at, index] of order.entries()) {
    const weight = Math.exp((finite(mean[index]) - highest) / SHARE_TEMPERATURE);
    all += weight;
    if (at < k) served += weight;
  }
  return served / all;
}

/** Indices by falling score; of equals the first one first. */
function inOrder(score: ArrayLike<number>): number[] {
  return Array.from(score, (_, index) => index).sort((a, b) => finite(score[b]) - finite(score[a]) || a - b);
}

function largest(column: ArrayLike<number>): number {
  let best = -1;
  for (let i = 0; i < column.length; i++) if (best < 0 || finite(column[i]) > finite(column[best])) best = i;
  return best;
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
