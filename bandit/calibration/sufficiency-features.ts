/** Columns of what is known about the candidates of a decision before its slate is drawn, of one length. */
export interface CandidateColumns {
  /** Score that orders them. */
  readonly score: ArrayLike<number>;
  /** Expected reward. */
  readonly mean: ArrayLike<number>;
  readonly trials: ArrayLike<number>;
  readonly similarity: ArrayLike<number>;
  readonly lexical: ArrayLike<number>;
  readonly dense: ArrayLike<number>;
  readonly retrieval: ArrayLike<number>;
}

/** The features by name, in their order. */
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
 * candidates in the order of their scores, and which of them would be served without chance.
 * @param served indices of those; a number k: the first k by score
 * @param needs how many sub-queries the query was taken apart into; 0 or 1: it asks for one thing
 */
export function sufficiencyFeatures(
  columns: CandidateColumns,
  served: number | readonly number[],
  needs: number,
): number[] {
  const { mean, trials, similarity, lexical, dense, retrieval } = columns;
  const count = typeof served === 'number' ? served : served.length;
  // Of this order nothing is asked beyond the first that is left out, and each decision pays for it.
  const order = bestOf(columns.score, Math.max(2, count + 1));
  const chosen = typeof served === 'number' ? order.slice(0, served) : inOrder(served, columns.score);
  const first = chosen.at(0);
  const next = order.find((index) => index !== first);
  const out = order.find((index) => !chosen.includes(index));
  const of = (column: ArrayLike<number>, index: number | undefined): number =>
    index === undefined ? 0 : finite(column[index]);
  const best = of(mean, first);
  const bySimilarity = largest(similarity);
  const byWords = largest(lexical);
  const byVectors = largest(dense);
  const agree =
    chosen.includes(byWords) && chosen.includes(byVectors) ? (byWords === byVectors ? 1 : 0.5) : 0;
  return [
    1,
    clamp(best, -1, 2),
    clamp(best - of(mean, next), 0, 1),
    clamp(best - of(mean, out), 0, 1),
    shareOf(mean, chosen),
    bySimilarity < 0 ? 0 : finite(similarity[bySimilarity]),
    of(retrieval, first),
    agree,
    Math.min(2, Math.log1p(Math.max(0, of(trials, first)))),
    Math.log2(1 + chosen.length) / 4,
    Math.min(MOST_NEEDS, Math.max(0, needs - 1)) / MOST_NEEDS,
  ];
}

/** Returns the share of the served ones, 0…1, when the expectation is divided among all candidates by a softmax over their means. */
function shareOf(mean: ArrayLike<number>, served: readonly number[]): number {
  if (mean.length === 0) return 0;
  const highest = finite(mean[largest(mean)]);
  const weightOf = (index: number): number => Math.exp((finite(mean[index]) - highest) / SHARE_TEMPERATURE);
  let all = 0;
  for (let index = 0; index < mean.length; index++) all += weightOf(index);
  let part = 0;
  for (const index of served) part += weightOf(index);
  return Math.min(1, part / all);
}

/** Returns these indices by falling score; of equals the first one first. */
function inOrder(indices: readonly number[], score: ArrayLike<number>): number[] {
  return indices.toSorted((a, b) => finite(score[b]) - finite(score[a]) || a - b);
}

/** Returns the indices of the highest scores, falling; of equals the first one first. */
function bestOf(score: ArrayLike<number>, count: number): number[] {
  const best: number[] = [];
  for (let index = 0; index < score.length; index++) {
    const value = finite(score[index]);
    let at = best.length;
    if (at === count && value <= finite(score[best[at - 1]])) continue;
    if (at === count) at--;
    for (; at > 0 && value > finite(score[best[at - 1]]); at--) best[at] = best[at - 1];
    best[at] = index;
  }
  return best;
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
