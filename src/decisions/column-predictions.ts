import type { DecisionColumns } from './decision.ts';
import type { Prediction, Predictions } from './packed-columns.ts';

/**
 * The columns of a decision in the order in which they are written: each after those by which it is foretold. The features of the policies
 * come between the two, but for the means among them, which come last.
 */
export const FIRST_COLUMNS = [
  ...(['similarity', 'lexical', 'dense', 'retrieval', 'trials', 'gain', 'uncertainty'] as const),
] satisfies (keyof DecisionColumns)[];
export const LAST_COLUMNS = [
  ...(['base', 'mean', 'bonus', 'score', 'propensity'] as const),
] satisfies (keyof DecisionColumns)[];
export const LAST_FEATURE = 'mean';

const [SIMILARITY, LEXICAL, DENSE, RETRIEVAL, TRIALS, GAIN, UNCERTAINTY] = FIRST_COLUMNS.keys();
const FEATURES = FIRST_COLUMNS.length;

/**
 * How the default policy, `sc-linucb-memory`, makes its columns of others; what was made in another way is written whole. These numbers are
 * part of the format: with others, what was written could not be read.
 */
const BASE = { retrieval: 0.3, rho: 0.3, mx: 0.3, vote: 0.5 };
const RHO = { trials: 0.5, rate: 0.5 };
const BONUS = { alpha: 0.1, local: 0.5, mostPromise: 1.5 };

/** c is e(q)·φ, stretched: two of its values give the line. */
const DENSE_BY_SIMILARITY: Prediction = {
  given: (columns) => [placeOfMost(columns[SIMILARITY], 1), placeOfMost(columns[SIMILARITY], -1)],
  foretell: (dense, { [SIMILARITY]: similarity }, [most, least], rows) => {
    const [to, from] = rows.map((row) => similarity[row]);
    for (let row = 0; row < dense.length; row++) {
      dense[row] = number(least + ((similarity[row] - from) / (to - from)) * (most - least));
    }
  },
};

/** g is the mean of h and c. */
const RETRIEVAL_BY_HALVES: Prediction = {
  foretell: (retrieval, { [LEXICAL]: lexical, [DENSE]: dense }) => {
    for (let row = 0; row < retrieval.length; row++) retrieval[row] = number((lexical[row] + dense[row]) / 2);
  },
};

/** What a decision says beside its columns. */
export interface Foretelling {
  /** Names of the features of the first version. */
  readonly features: readonly string[];
  /** Number of columns of features that come before the last columns. */
  readonly early: number;
  readonly k: number;
  readonly temperature: number;
}

/** Returns how columns are foretold. */
export function predictionsFor({ features, early, k, temperature }: Foretelling): Predictions {
  const [mx, vote, rho, taught] = ['mx', 'vote', 'rho', 'taught'].map(
    (name) => FEATURES + features.indexOf(name),
  );
  const isKnown = Math.min(mx, vote, rho, taught) >= FEATURES;
  const base = FEATURES + early;
  const [mean, bonus, score, propensity] = [base + 1, base + 2, base + 3, base + 4];
  const predictions: (Prediction | undefined)[] = new Array(propensity + 1).fill(undefined);
  predictions[DENSE] = DENSE_BY_SIMILARITY;
  predictions[RETRIEVAL] = RETRIEVAL_BY_HALVES;
  if (isKnown) {
    predictions[rho] = {
      foretell: (column, { [RETRIEVAL]: retrieval, [TRIALS]: trials, [vote]: votes }) => {
        for (let row = 0; row < column.length; row++) {
          const positives = votes[row] * (trials[row] + 1);
          column[row] = number(
            (positives + RHO.trials * RHO.rate * retrieval[row]) / (trials[row] + RHO.trials),
          );
        }
      },
    };
    predictions[base] = {
      foretell: (
        column,
        { [LEXICAL]: lexical, [DENSE]: dense, [mx]: nearest, [vote]: votes, [rho]: rates },
      ) => {
        for (let row = 0; row < column.length; row++) {
          const retrieval = BASE.retrieval * (lexical[row] + dense[row]);
          column[row] = number(
            retrieval + BASE.rho * rates[row] + BASE.mx * nearest[row] + BASE.vote * votes[row],
          );
        }
      },
    };
    predictions[bonus] = {
      foretell: (column, columns) => {
        const {
          [RETRIEVAL]: retrieval,
          [taught]: scores,
          [UNCERTAINTY]: uncertainty,
          [TRIALS]: trials,
        } = columns;
        for (let row = 0; row < column.length; row++) {
          const promise = Math.min(BONUS.mostPromise, Math.max(0, retrieval[row] + scores[row]));
          column[row] = number(BONUS.alpha * uncertainty[row] + (BONUS.local * promise) / (1 + trials[row]));
        }
      },
    };
  }
  predictions[mean] = sumOf(base, GAIN);
  predictions[score] = sumOf(mean, bonus);
  predictions[propensity] = byArrivals(score, k, temperature);
  return predictions;
}

/**
 * Candidates arrive at the rates w = e^(u/T), and the first k of them are drawn, so one far below them is drawn with the probability
 * w·E[arrival of the k-th]. Nearer ones are drawn less often than that: about w/(1 + c·w). The last one and one that is not far
 * below give the two numbers.
 */
function byArrivals(score: number, k: number, temperature: number): Prediction {
  return {
    given: ({ [score]: scores }) => [placeOfMost(scores, -1), placeOfRank(scores, k + BELOW)],
    foretell: (column, { [score]: scores }, [least, near], [last, next]) => {
      const from = scores[next];
      const arrival = least / exponential((scores[last] - from) / temperature);
      const less = (arrival / near - 1) / arrival;
      for (let row = 0; row < column.length; row++) {
        const rate = arrival * exponential((scores[row] - from) / temperature);
        column[row] = number(Math.min(1, rate / (1 + less * rate)));
      }
    },
  };
}

/** From how many places below the k-th on candidates are drawn by chance alone. */
const BELOW = 3;

function sumOf(one: number, other: number): Prediction {
  return {
    foretell: (column, { [one]: left, [other]: right }) => {
      for (let row = 0; row < column.length; row++) column[row] = number(left[row] + right[row]);
    },
  };
}

/** Which bits a NaN has is up to the engine. */
function number(value: number): number {
  return Number.isNaN(value) ? 0 : value;
}

/** @param sign 1 for the largest value, −1 for the smallest */
function placeOfMost(column: Float32Array, sign: 1 | -1): number {
  let place = 0;
  for (let row = 1; row < column.length; row++) if (sign * column[row] > sign * column[place]) place = row;
  return place;
}

/** Returns where the number of this rank is, 1 for the largest; the smallest if there are not so many. */
function placeOfRank(column: Float32Array, rank: number): number {
  const places: number[] = [];
  for (let row = 0; row < column.length; row++) {
    let at = places.length;
    if (at === rank && !(column[row] > column[places[at - 1]])) continue;
    if (at === rank) at--;
    for (; at > 0 && column[row] > column[places[at - 1]]; at--) places[at] = places[at - 1];
    places[at] = row;
  }
  return places[places.length - 1];
}

const [LEAST_EXPONENT, MOST_EXPONENT] = [-1000, 1000];

/**
 * Returns eˣ to eight digits, the same on every engine, as `Math.exp` need not be: what was foretold is part of the format. 2 to the
 * whole part of x/ln 2, times the first terms of the series for the rest.
 */
function exponential(x: number): number {
  const turns = x * Math.LOG2E;
  const power = Math.floor(Math.min(MOST_EXPONENT, Math.max(LEAST_EXPONENT, turns)) + 0.5);
  const r = (turns - power) * Math.LN2;
  DOUBLE_WORDS[1] = (power + 1023) << 20;
  return (
    DOUBLE[0] *
    (1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))))))
  );
}

const DOUBLE = new Float64Array(1);
const DOUBLE_WORDS = new Uint32Array(DOUBLE.buffer);
