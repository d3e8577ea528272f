import { randomFor } from '../../../bandit/random.ts';
import { CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { LAMBDA_MART_DEFAULTS, lambdaMartRounds } from '../../../bandit/ranking/lambdamart.ts';
import { meanNdcg, type RankingSet } from '../../../bandit/ranking/ranking-set.ts';
import type { TreeEnsemble } from '../../../bandit/ranking/tree-ensemble.ts';
import type { TrainingResult } from './context-training.ts';
import { SHOWN, USED } from './user-examples.ts';

/** With fewer examples that say which items were used, or of fewer users, a difference says nothing. */
export const LEAST_EXAMPLES = 200;
export const LEAST_USERS = 20;
/** Of the users, in their order: those by whom the model is judged, then those by whom the number of trees is chosen. */
const [JUDGING, CHOOSING] = [0.3, 0.15];
const SETTINGS = { ...LAMBDA_MART_DEFAULTS, rounds: 100, numLeaves: 15, minDataInLeaf: 20, lambda: 1 };
/** NDCG is looked at after so many trees each. */
const LOOK_EVERY = 5;
const K = 5;
const RESAMPLES = 2_000;
const ALPHA = 0.05;

/** Examples of many users: n items of q examples of u users, each user's one after the other. */
export interface TrainingExamples {
  /** n × d `CONTEXT_FEATURES`. */
  readonly features: Float32Array;
  /** By item: `USED` and `SHOWN`. n numbers. */
  readonly said: Uint8Array;
  /** Where the items of each example begin, and n: q + 1 numbers. */
  readonly starts: Uint32Array;
  /** Where the examples of each user begin, and q: u + 1 numbers. Users are in an order that has nothing to do with them. */
  readonly users: Uint32Array;
}

/** The new model, with how it was judged. */
export interface TrainedRanker extends TrainingResult {
  readonly ranker: ContextRanker;
}

export interface RankerTraining {
  /** Where the trees go on, and whose map is kept. */
  readonly base: ContextRanker;
  /** What the new model is compared with. */
  readonly inUse: ContextRanker;
  readonly examples: TrainingExamples;
}

/**
 * Trains a ranker: trees of LambdaMART are added to those of the base, from 55 % of the users; 15 % say after how many trees it is best, and
 * 30 % whether it is better than the model in use. Where none of the items was right, those that were shown count less than the
 * others; where some were used, these count more. Yields the share that is done. Deterministic.
 * @throws RangeError when the examples do not fit together
 */
export function* trainRanker({ base, inUse, examples }: RankerTraining): Generator<number, TrainedRanker> {
  const users = examples.users.length - 1;
  const judging = Math.max(1, Math.round(JUDGING * users));
  const choosing = judging + Math.max(1, Math.round(CHOOSING * users));
  const learned = rankingSetOf(examples, choosing, users, false);
  const chosen = rankingSetOf(examples, judging, choosing, true);
  let best = { ndcg: meanNdcg(chosen.set, base.trees.scores(chosen.set.features), K), trees: base.trees };
  for (const { round, ensemble } of lambdaMartRounds(learned.set, SETTINGS, base.trees)) {
    if (round % LOOK_EVERY !== 0) continue;
    const trees = ensemble();
    const ndcg = meanNdcg(chosen.set, trees.scores(chosen.set.features), K);
    if (ndcg > best.ndcg) best = { ndcg, trees };
    yield round / SETTINGS.rounds;
  }
  const judged = rankingSetOf(examples, 0, judging, true);
  const [before, after] = [inUse.trees, best.trees].map((trees) => ndcgByExample(judged.set, trees));
  const differences = judged.starts.slice(0, -1).map((start, user) => {
    const of = (values: Float64Array): number =>
      values.slice(start, judged.starts[user + 1]).reduce((sum, value) => sum + value, 0);
    return { examples: judged.starts[user + 1] - start, gain: of(after) - of(before) };
  });
  return {
    ...{ judgedExamples: before.length, judgedUsers: differences.filter((one) => one.examples > 0).length },
    ...{ before: mean(before), after: mean(after), ...interval(differences) },
    trees: best.trees.size - base.trees.size,
    ranker: new ContextRanker(best.trees, base.map, base.embedder),
  };
}

interface UserSet {
  readonly set: RankingSet;
  /** Where the examples of each user begin, and how many there are. */
  readonly starts: readonly number[];
}

/** Examples of the users `from` … `to`. @param isJudged only those that say which items were used */
function rankingSetOf(
  { features, said, starts, users }: TrainingExamples,
  from: number,
  to: number,
  isJudged: boolean,
): UserSet {
  const d = CONTEXT_FEATURES.length;
  const kept: number[] = [];
  const userStarts = [0];
  for (let user = from; user < to; user++) {
    for (let example = users[user]; example < users[user + 1]; example++) {
      const own = said.subarray(starts[example], starts[example + 1]);
      if (!isJudged || own.some(isUsed)) kept.push(example);
    }
    userStarts.push(kept.length);
  }
  const rows = kept.reduce((sum, example) => sum + starts[example + 1] - starts[example], 0);
  const set = {
    ...{ names: CONTEXT_FEATURES, features: new Float64Array(rows * d), labels: new Uint8Array(rows) },
    queryStarts: new Uint32Array(kept.length + 1),
  };
  let row = 0;
  for (const [at, example] of kept.entries()) {
    const [begin, end] = [starts[example], starts[example + 1]];
    const own = said.subarray(begin, end);
    const someUsed = own.some(isUsed);
    set.features.set(features.subarray(begin * d, end * d), row * d);
    for (const bits of own) set.labels[row++] = (someUsed ? isUsed(bits) : (bits & SHOWN) === 0) ? 1 : 0;
    set.queryStarts[at + 1] = row;
  }
  return { set, starts: userStarts };
}

const isUsed = (bits: number): boolean => (bits & USED) !== 0;

function ndcgByExample(
  { names, features, labels, queryStarts }: RankingSet,
  trees: TreeEnsemble,
): Float64Array {
  const scores = trees.scores(features);
  return Float64Array.from({ length: queryStarts.length - 1 }, (_, at) => {
    const [begin, end] = [queryStarts[at], queryStarts[at + 1]];
    const own = {
      names,
      features,
      labels: labels.subarray(begin, end),
      queryStarts: Uint32Array.of(0, end - begin),
    };
    return meanNdcg(own, scores.subarray(begin, end), K);
  });
}

const mean = (values: Float64Array): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Percentiles of the mean gain per example when users are drawn anew, as many as there are (Efron 1979; users, since their examples are alike). */
function interval(users: readonly { readonly examples: number; readonly gain: number }[]): {
  lower: number;
  upper: number;
} {
  const random = randomFor('judged users');
  let draw = 0;
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let [examples, gain] = [0, 0];
    for (let i = 0; i < users.length; i++) {
      const user = users[Math.floor(random.uniform(draw++) * users.length)];
      examples += user.examples;
      gain += user.gain;
    }
    return examples > 0 ? gain / examples : 0;
  }).sort();
  return {
    lower: means[Math.floor((ALPHA / 2) * RESAMPLES)],
    upper: means[Math.ceil((1 - ALPHA / 2) * RESAMPLES) - 1],
  };
}
