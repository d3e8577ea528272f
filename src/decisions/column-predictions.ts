import type { DecisionColumns } from './decision.ts';
import type { Prediction, Predictions } from './packed-columns.ts';

/**
 * The columns of a decision in the order in which they are written: each after those by which it is foretold. The features of the policies
 * come between the two, but for the means among them, which come last.
 */
export const FIRST_COLUMNS = [
  ...([
    'similarity',
    'lexical',
    'dense',
    'retrieval',
    'trials',
    'gain',
    'uncertainty',
    'propensity',
  ] as const),
] satisfies (keyof DecisionColumns)[];
export const LAST_COLUMNS = ['base', 'mean', 'bonus', 'score'] as const satisfies (keyof DecisionColumns)[];
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
  foretell: (dense, { [SIMILARITY]: similarity }, [most, least]) => {
    const from = similarity[placeOfMost(similarity, -1)];
    const to = similarity[placeOfMost(similarity, 1)];
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

/**
 * Returns how columns are foretold.
 * @param features names of the features of the first version
 * @param early number of columns of features that come before the last columns
 */
export function predictionsFor(features: readonly string[], early: number): Predictions {
  const [mx, vote, rho, taught] = ['mx', 'vote', 'rho', 'taught'].map(
    (name) => FEATURES + features.indexOf(name),
  );
  const isKnown = Math.min(mx, vote, rho, taught) >= FEATURES;
  const base = FEATURES + early;
  const [mean, bonus, score] = [base + 1, base + 2, base + 3];
  const predictions: (Prediction | undefined)[] = new Array(score + 1).fill(undefined);
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
  return predictions;
}

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
