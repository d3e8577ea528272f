import { COLUMNS } from '../../bandit/ranking/context-features.ts';
import type { RankedItem } from '../../bandit/ranking/context-ranker.ts';

/** BM25 scores from which on words say as much as they can. */
const MANY_WORDS = 6;
/** What a cosine counts where a word of the query is in the text as well. */
const NAMED = 1.5;

/**
 * How ranked items become probabilities, the product of two: that the query needs any item, σ(none + evidence·e), and that it is this one
 * if it needs any, σ(at + Σ weight·value). e, 0…1.5, is what the query itself says of the item that it says most of: how like it is
 * to queries that the item was used for, or to its text. So no habit alone makes an item likely.
 */
export interface ItemScale {
  readonly speaks: 'cosine' | 'words';
  readonly none: number;
  readonly evidence: number;
  readonly at: number;
  /** Of the logarithm of the item's share in the softmax of the scores. */
  readonly share: number;
  readonly words: number;
  readonly cosine: number;
  readonly asked: number;
  /** Of the share of its uses that went to tools that look right for the query. */
  readonly tools: number;
  /** From which probability on items are served. */
  readonly threshold: number;
}

/**
 * With the model, and for signals alone, whose cosines another embedder may have made. Fitted to the validation part of
 * `npx tsx bench/context.ts --part calibration`, which also measures them.
 */
export const BY_MODEL: ItemScale = {
  speaks: 'cosine',
  ...{ none: -3.44, evidence: 6.56 },
  ...{ at: 0.49, share: 0.94, words: 0, cosine: 0.95, asked: 2.35, tools: 2.78 },
  threshold: 0.175,
};
export const BY_SIGNALS: ItemScale = {
  speaks: 'words',
  ...{ none: -5.23, evidence: 10.37 },
  ...{ at: -4.29, share: 0, words: 4.08, cosine: 0, asked: 4.14, tools: 2.54 },
  threshold: 0.15,
};

export interface LikelyItem extends RankedItem {
  /** That the query needs it, 0…1. */
  readonly probability: number;
}

/** Returns all that were ranked, the likeliest first; among equals in the order of the ranking. What is not known counts as 0. */
export function byProbability(ranked: readonly RankedItem[], scale: ItemScale): LikelyItem[] {
  return likeliest(ranked, scale, Number.NEGATIVE_INFINITY);
}

/** Returns the k likeliest of those that are likely enough to be served, the likeliest first. */
export function servedItems(ranked: readonly RankedItem[], scale: ItemScale, k: number): LikelyItem[] {
  return likeliest(ranked, scale, scale.threshold).slice(0, k);
}

function likeliest(ranked: readonly RankedItem[], scale: ItemScale, least: number): LikelyItem[] {
  const { any, values } = itemValues(ranked, scale.speaks);
  const { at, share, words, cosine, asked, tools } = scale;
  const needsAny = sigmoid(scale.none + scale.evidence * any);
  const likely: LikelyItem[] = [];
  // Most queries need few items or none: σ is not more than 1.
  if (needsAny < least) return likely;
  for (let i = 0; i < ranked.length; i++) {
    const [one, logShare, named, near, askedLike, withTools] = values[i];
    const sum =
      at * one + share * logShare + words * named + cosine * near + asked * askedLike + tools * withTools;
    const probability = needsAny * sigmoid(sum);
    if (probability >= least) likely.push({ ...ranked[i], probability });
  }
  return likely.sort((a, b) => b.probability - a.probability);
}

/**
 * Returns what the two probabilities are made of: the evidence that the query needs any item, 0…1.5, and for each item 1, log share, words
 * (0…1), cosine, cosine with queries that it was used for, and uses with the tools.
 */
export function itemValues(
  ranked: readonly RankedItem[],
  speaks: ItemScale['speaks'],
): { readonly any: number; readonly values: readonly (readonly number[])[] } {
  let best = Number.NEGATIVE_INFINITY;
  for (const { score } of ranked) best = Math.max(best, score);
  let total = 0;
  for (const { score } of ranked) total += Math.exp(score - best);
  const logSum = Math.log(total) + best;
  let any = 0;
  const values: number[][] = [];
  for (const { score, features } of ranked) {
    const words = Math.min(1, (features[COLUMNS.words] || 0) / MANY_WORDS);
    const cosine = features[COLUMNS.cosine] || 0;
    const asked = features[COLUMNS['asked cosine']] || 0;
    any = Math.max(any, asked, speaks === 'words' ? words : cosine * (words > 0 ? NAMED : 1));
    values.push([1, score - logSum, words, cosine, asked, features[COLUMNS['its uses with the tools']] || 0]);
  }
  return { any, values };
}

function sigmoid(sum: number): number {
  return 1 / (1 + Math.exp(-sum));
}
