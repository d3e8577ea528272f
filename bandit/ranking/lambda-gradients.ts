import { bestDcg, discount, gainOf, orderByScore, type RankingSet } from './ranking-set.ts';

/** Keeps pairs of almost equal scores from counting without bound, as in LightGBM. */
const LEAST_DISTANCE = 0.01;

export interface LambdaSettings {
  /** Pairs count whose better ranked item is among so many of the first, 1…; NDCG is cut off there too. */
  readonly truncation: number;
  /** σ > 0: how steeply the probability of the right order rises with the difference of two scores. */
  readonly sigmoid: number;
  /** Whether pairs are weighed by the distance of their scores, and queries with many pairs less. */
  readonly normalise: boolean;
}

/**
 * First and second derivatives of the LambdaRank loss by the scores (Burges 2010, section 4; normalisation as LightGBM's
 * `lambdarank`): each pair of different grades pulls its items apart by ρ·σ·|ΔNDCG|, where ρ = 1/(1 + exp(σ(s₊ − s₋))) and ΔNDCG is
 * what exchanging the two would change. A query whose grades are all equal has derivatives of 0.
 */
export class LambdaGradients {
  readonly #set: RankingSet;
  readonly #settings: LambdaSettings;
  /** 1 / the best DCG by query; 0 where nothing is relevant. */
  readonly #inverseBest: Float64Array;
  readonly #discounts: Float64Array;
  readonly #order: Uint32Array;

  constructor(set: RankingSet, settings: LambdaSettings) {
    this.#set = set;
    this.#settings = settings;
    const queries = set.queryStarts.length - 1;
    this.#inverseBest = new Float64Array(queries);
    let longest = 0;
    for (let query = 0; query < queries; query++) {
      const [begin, end] = [set.queryStarts[query], set.queryStarts[query + 1]];
      const best = bestDcg(set.labels.subarray(begin, end), settings.truncation);
      this.#inverseBest[query] = best > 0 ? 1 / best : 0;
      longest = Math.max(longest, end - begin);
    }
    this.#order = new Uint32Array(longest);
    this.#discounts = Float64Array.from({ length: longest }, (_, rank) => discount(rank));
  }

  /** Writes the derivatives at these scores. @param scores, gradients, hessians by row: n each */
  compute(scores: Float64Array, gradients: Float64Array, hessians: Float64Array): void {
    gradients.fill(0);
    hessians.fill(0);
    const { queryStarts } = this.#set;
    for (let query = 0; query + 1 < queryStarts.length; query++) {
      if (this.#inverseBest[query] > 0) this.#computeQuery(query, scores, gradients, hessians);
    }
  }

  #computeQuery(query: number, scores: Float64Array, gradients: Float64Array, hessians: Float64Array): void {
    const { truncation, sigmoid, normalise } = this.#settings;
    const { labels, queryStarts } = this.#set;
    const [begin, end] = [queryStarts[query], queryStarts[query + 1]];
    const order = this.#order.subarray(0, end - begin);
    orderByScore(scores.subarray(begin, end), order);
    const spread = scores[begin + order[0]] - scores[begin + order[order.length - 1]];
    const weighsDistance = normalise && spread > 0;
    let total = 0;
    for (let i = 0; i < Math.min(truncation, order.length - 1); i++) {
      const first = begin + order[i];
      for (let j = i + 1; j < order.length; j++) {
        const second = begin + order[j];
        if (labels[first] === labels[second]) continue;
        const firstIsBetter = labels[first] > labels[second];
        const [better, worse] = firstIsBetter ? [first, second] : [second, first];
        const difference = scores[better] - scores[worse];
        const gap = gainOf(labels[better]) - gainOf(labels[worse]);
        let change = gap * (this.#discounts[i] - this.#discounts[j]) * this.#inverseBest[query];
        if (weighsDistance) change /= LEAST_DISTANCE + Math.abs(difference);
        const wrong = 1 / (1 + Math.exp(sigmoid * difference));
        const lambda = sigmoid * change * wrong;
        const curvature = sigmoid * sigmoid * change * wrong * (1 - wrong);
        gradients[better] -= lambda;
        gradients[worse] += lambda;
        hessians[better] += curvature;
        hessians[worse] += curvature;
        total += 2 * lambda;
      }
    }
    if (!normalise || total === 0) return;
    const scale = Math.log2(1 + total) / total;
    for (let row = begin; row < end; row++) {
      gradients[row] *= scale;
      hessians[row] *= scale;
    }
  }
}
