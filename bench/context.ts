/**
 * Which pieces of a user's context does an implicit query need ("order the usual")? Context Recall and NDCG of words, vectors,
 * vectors with a map that was trained for it, scripted thoughts, and usage signals ranked by LambdaMART and joined by reciprocal rank,
 * beside Table 2 of the paper (context tuning).
 *
 *   npx tsx bench/context.ts [--seed 1] [--write models/context-ranker/context-ranker.bin]
 *   npx tsx bench/context.ts --part calibration
 *
 * The second fits how scores become probabilities, on queries that need items and on those of context/explicit.txt, which need none.
 * The users are simulated (context/world.ts). A tenth of the personas to learn from is kept aside: everything is chosen there, and then
 * measured once on the personas of the test part.
 */
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join as pathOf } from 'node:path';
import { parseArgs } from 'node:util';
import { CONTEXT_FEATURES } from '../bandit/ranking/context-features.ts';
import { ContextRanker, rankBySignals } from '../bandit/ranking/context-ranker.ts';
import {
  LAMBDA_MART_DEFAULTS,
  type LambdaMartSettings,
  trainLambdaMart,
} from '../bandit/ranking/lambdamart.ts';
import { meanNdcg, type RankingSet } from '../bandit/ranking/ranking-set.ts';
import { reciprocalRankFusion } from '../bandit/ranking/reciprocal-rank-fusion.ts';
import { product, SemanticMap } from '../bandit/ranking/semantic-map.ts';
import type { TreeEnsemble } from '../bandit/ranking/tree-ensemble.ts';
import { packageRoot } from '../config/package-root.ts';
import { BY_MODEL, BY_SIGNALS, type ItemScale } from '../src/context/item-probability.ts';
import { shippedContextRanker } from '../src/context/shipped-ranker.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { chooseThreshold, fitted, rankedQueries, servedAt } from './context/calibration.ts';
import { featuresOf, type Judged, judge, rankingSetOf } from './context/judged.ts';
import { simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, write: { type: 'string' }, part: { type: 'string' } },
});

const VALIDATION_PERSONAS = 65;
const KS = [3, 5, 10];
const MOST_PASSES = 12;
const FOLDS = 5;
/** Larger trees have to be better by as much. */
const SMALL_GAIN = 0.005;
const SETTINGS: readonly LambdaMartSettings[] = [
  { ...LAMBDA_MART_DEFAULTS, rounds: 150, numLeaves: 15, minDataInLeaf: 50, lambda: 1 },
  { ...LAMBDA_MART_DEFAULTS, rounds: 150, numLeaves: 31, minDataInLeaf: 50, lambda: 1 },
];
const PAPER: Readonly<Record<string, string>> = {
  BM25: '11.35 13.47 14.92 | 56.45 52.33 50.91',
  'semantic search': '23.74 25.38 26.99 | 65.44 64.31 64.02',
  'with scripted thoughts': '71.77 85.61 94.41 | 93.67 91.78 88.40',
  'fine-tuned': '73.48 88.52 95.13 | 93.81 94.07 94.23',
  'fine-tuned, with thoughts': '73.55 88.53 95.17 | 93.92 94.11 94.22',
  'LambdaMART and RRF': '81.27 92.65 98.77 | 96.39 97.11 98.24',
};

/** Items of one user, the best first; those that a method does not find are left out. */
type Ranking = readonly number[];
type Method = (judged: Judged, at: number) => Ranking;

function byScore(scores: ArrayLike<number>, found: (score: number) => boolean = () => true): Ranking {
  return Array.from(scores, (score, item) => ({ score, item }))
    .filter(({ score }) => found(score))
    .sort((a, b) => b.score - a.score || a.item - b.item)
    .map(({ item }) => item);
}

/** Recall and NDCG at 3, 5 and 10, in percent. */
function measure(all: readonly Judged[], method: Method): { recall: number[]; ndcg: number[] } {
  const [recall, ndcg] = [KS.map(() => 0), KS.map(() => 0)];
  for (const [at, judged] of all.entries()) {
    const ranking = method(judged, at);
    const count = judged.relevant.filter(Boolean).length;
    for (const [i, k] of KS.entries()) {
      const discounts = (hit: (rank: number) => boolean): number => {
        let sum = 0;
        for (let rank = 0; rank < k; rank++) sum += hit(rank) ? 1 / Math.log2(2 + rank) : 0;
        return sum;
      };
      const hits = ranking.slice(0, k).filter((item) => judged.relevant[item]).length;
      recall[i] += (100 * hits) / count / all.length;
      const best = discounts((rank) => rank < count);
      ndcg[i] += (100 * discounts((rank) => judged.relevant[ranking[rank]] === true)) / best / all.length;
    }
  }
  return { recall, ndcg };
}

/** How the scores of the trees become one ranking. */
const JOINS: Readonly<Record<string, (scores: Float64Array, judged: Judged, map: SemanticMap) => Ranking>> = {
  'one list': (scores) => byScore(scores),
  'stores, each counting alike': (scores, { stores }) => federated(scores, stores, () => 1, 60),
  'stores, by their best': (scores, { stores }) => federated(scores, stores, (best) => Math.exp(best), 60),
  'stores, by their best, k 1': (scores, { stores }) =>
    federated(scores, stores, (best) => Math.exp(best), 1),
  'one list and stores': (scores, { stores }) => fused(scores, stores, 60),
  'one list and stores, k 10': (scores, { stores }) => fused(scores, stores, 10),
  'one list and the map': (scores, judged, map) => besides(scores, mapped(map, false)(judged, 0), 0.25),
  'one list and signals': (scores, { candidates, moment }) =>
    besides(
      scores,
      rankBySignals(candidates, moment).map(({ item }) => item),
      0.25,
    ),
};

/** Joined with another ranking of the same items, which counts less. */
function besides(scores: Float64Array, other: Ranking, weight: number): Ranking {
  const lists = [
    { items: byScore(scores), weight: 1 },
    { items: other, weight },
  ];
  return reciprocalRankFusion(lists).map(({ item }) => item);
}

function listsOf(scores: Float64Array, stores: readonly string[]): Map<string, number[]> {
  const lists = new Map<string, number[]>();
  for (const item of byScore(scores)) lists.set(stores[item], [...(lists.get(stores[item]) ?? []), item]);
  return lists;
}

function federated(
  scores: Float64Array,
  stores: readonly string[],
  weight: (best: number) => number,
  k: number,
): Ranking {
  const lists = Array.from(listsOf(scores, stores).values(), (items) => ({
    items,
    weight: weight(scores[items[0]]),
  }));
  return reciprocalRankFusion(lists, k).map(({ item }) => item);
}

/** The list of everything and, for each store, the list of its items: the first of a store gains. */
function fused(scores: Float64Array, stores: readonly string[], k: number): Ranking {
  const lists = Array.from(listsOf(scores, stores).values(), (items) => ({ items, weight: 0.25 }));
  return reciprocalRankFusion([{ items: byScore(scores), weight: 1 }, ...lists], k).map(({ item }) => item);
}

function row(name: string, { recall, ndcg }: { recall: number[]; ndcg: number[] }): string {
  const cells = [recall, ndcg].map((values) => values.map((value) => value.toFixed(2)).join(' '));
  return `| ${name} | ${cells.join(' | ')} | ${PAPER[name] ?? '|'} |`;
}

const queryOf = (one: Judged, withThoughts: boolean): Float32Array =>
  withThoughts ? one.thoughtEmbedding : one.embedding;

function mapped(map: SemanticMap, withThoughts: boolean): Method {
  return (judged) => {
    const query = map.map(queryOf(judged, withThoughts));
    return byScore(judged.vectors.map((vector) => product(query, vector)));
  };
}

function* mapPasses(training: readonly Judged[], withThoughts: boolean): Generator<SemanticMap> {
  const map = SemanticMap.untrained(training[0].embedding.length);
  for (;;) {
    // A stride that shares no factor with the number of queries visits all of them in another order.
    for (let i = 0; i < training.length; i++) {
      const one = training[(i * 1009) % training.length];
      map.learn({ query: queryOf(one, withThoughts), items: one.vectors, relevant: one.relevant });
    }
    yield map;
  }
}

/** The map after the pass that ranks the validation part best. */
function chooseMap(training: readonly Judged[], validation: readonly Judged[], withThoughts: boolean) {
  let best = { pass: 0, ndcg: -1, map: SemanticMap.untrained(training[0].embedding.length) };
  let pass = 0;
  for (const map of mapPasses(training, withThoughts)) {
    pass++;
    const { ndcg } = measure(validation, mapped(map, withThoughts));
    if (ndcg[1] > best.ndcg) best = { pass, ndcg: ndcg[1], map: SemanticMap.of(map.save()) };
    if (pass === MOST_PASSES) break;
  }
  return best;
}

/** Features of the training part, each query's with a map that never saw its persona. */
function foldedFeatures(training: readonly Judged[], passes: number): Float64Array[] {
  const features: Float64Array[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const isKept = (at: number): boolean => Math.floor((at * FOLDS) / training.length) === fold;
    const rest = training.filter((_, at) => !isKept(at));
    const maps = mapPasses(rest, false);
    let map: SemanticMap | null = null;
    for (let pass = 0; pass < passes; pass++) map = maps.next().value;
    for (const [at, one] of training.entries()) if (isKept(at)) features[at] = featuresOf(one, map);
  }
  return features;
}

/** Trees of the round that ranks the validation part best. */
function trainTrees(
  training: RankingSet,
  validation: RankingSet,
  settings: LambdaMartSettings,
): { trees: TreeEnsemble; ndcg: number } {
  let best: { trees: TreeEnsemble | null; ndcg: number } = { trees: null, ndcg: -1 };
  trainLambdaMart(training, settings, ({ round, ensemble }) => {
    if (round % 10 !== 0) return;
    const trees = ensemble();
    const ndcg = meanNdcg(validation, trees.scores(validation.features), 5);
    if (ndcg > best.ndcg) best = { trees, ndcg };
  });
  return { trees: best.trees!, ndcg: best.ndcg };
}

const from = (first: (typeof CONTEXT_FEATURES)[number], end: (typeof CONTEXT_FEATURES)[number]) =>
  CONTEXT_FEATURES.slice(CONTEXT_FEATURES.indexOf(first), CONTEXT_FEATURES.indexOf(end));

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'the map': from('mapped product', 'asked cosine'),
  'earlier queries': [...from('asked cosine', 'gap of its store'), 'uses of the nearest that are with it'],
  numbers: from('uses', 'its uses at this hour'),
  habits: from('its uses at this hour', 'its uses with the tools'),
  tools: from('its uses with the tools', 'its uses with recent items'),
};

async function main(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const world = simulatedWorld(Number(options.seed));
  const [training, validation, test] = await Promise.all([
    judge(world.training.slice(0, -VALIDATION_PERSONAS), embedder),
    judge(world.training.slice(-VALIDATION_PERSONAS), embedder),
    judge(world.test, embedder),
  ]);
  await embedder.close();
  console.log(
    `${training.length} queries to learn from, ${validation.length} to choose on, ${test.length} to test on`,
  );

  const { map, pass } = chooseMap(training, validation, false);
  const { map: thoughtful, pass: thoughtfulPass } = chooseMap(training, validation, true);
  console.log(`Map after ${pass} passes, with thoughts ${thoughtfulPass}`);
  const trainingFeatures = foldedFeatures(training, pass);
  const [validationFeatures, testFeatures] = [validation, test].map((all) =>
    all.map((one) => featuresOf(one, map)),
  );
  const [trainingSet, validationSet] = [
    rankingSetOf(training, trainingFeatures),
    rankingSetOf(validation, validationFeatures),
  ];

  console.log('\nTrees, NDCG@5 of the validation part');
  let chosen = { trees: null as TreeEnsemble | null, ndcg: -1, settings: SETTINGS[0] };
  for (const settings of SETTINGS) {
    const trained = trainTrees(trainingSet, validationSet, settings);
    console.log(`  ${settings.numLeaves} leaves, ${trained.trees.size} trees: ${trained.ndcg.toFixed(4)}`);
    if (trained.ndcg > chosen.ndcg + SMALL_GAIN) chosen = { ...trained, settings };
  }
  const trees = chosen.trees!;
  console.log('\nJoins, Recall and NDCG of the validation part');
  let join = { name: '', ndcg: -1 };
  for (const [name, joined] of Object.entries(JOINS)) {
    const measures = measure(validation, (judged, at) =>
      joined(trees.scores(validationFeatures[at]), judged, map),
    );
    console.log(row(name, measures));
    if (name !== 'one list' && measures.ndcg[1] > join.ndcg) join = { name, ndcg: measures.ndcg[1] };
  }

  const scoresOf = (at: number): Float64Array => trees.scores(testFeatures[at]);
  const methods: Record<string, Method> = {
    'by chance': ({ relevant }, at) =>
      byScore(relevant.map((_, item) => Math.sin(item * 12.9898 + at * 78.233))),
    BM25: ({ words }) => byScore(words, (score) => score > 0),
    'semantic search': ({ embedding, vectors }) =>
      byScore(vectors.map((vector) => product(embedding, vector))),
    'BM25, with scripted thoughts': ({ thoughtWords }) => byScore(thoughtWords, (score) => score > 0),
    'with scripted thoughts': ({ thoughtEmbedding, vectors }) =>
      byScore(vectors.map((vector) => product(thoughtEmbedding, vector))),
    'fine-tuned': mapped(map, false),
    'fine-tuned, with thoughts': mapped(thoughtful, true),
    'RRF of signals, no model': ({ candidates, moment }) =>
      rankBySignals(candidates, moment).map(({ item }) => item),
    'LambdaMART alone': (_, at) => byScore(scoresOf(at)),
    'LambdaMART and RRF': (judged, at) => JOINS[join.name](scoresOf(at), judged, map),
  };
  console.log(`\nTest part, Recall@3 @5 @10 and NDCG@3 @5 @10 (chosen: ${join.name})\n`);
  console.log('| | Recall | NDCG | paper: Recall | paper: NDCG |\n|---|---|---|---|---|');
  const results: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(methods)) {
    const measures = measure(test, method);
    results[name] = measures;
    console.log(row(name, measures));
  }
  console.log('\nLambdaMART alone, trained without\n');
  for (const [name, without] of Object.entries(GROUPS)) {
    const left = new Set(without);
    const sets = [
      rankingSetOf(training, trainingFeatures, left),
      rankingSetOf(validation, validationFeatures, left),
      rankingSetOf(test, testFeatures, left),
    ];
    const { trees: fewer } = trainTrees(sets[0], sets[1], chosen.settings);
    const scores = fewer.scores(sets[2].features);
    const starts = sets[2].queryStarts;
    const measures = measure(test, (_, at) => byScore(scores.subarray(starts[at], starts[at + 1])));
    results[`without ${name}`] = measures;
    console.log(row(name, measures));
  }
  const ranker = new ContextRanker(trees, map, embedder.fingerprint);
  const bytes = ranker.encode();
  const begun = process.cpuUsage().user;
  for (const { candidates, moment } of test) ranker.rank(candidates, moment);
  const micros = Math.round((process.cpuUsage().user - begun) / test.length);
  console.log(`\n${trees.size} trees, ${bytes.length} bytes; ${micros} µs for the items of a query`);
  if (options.write !== undefined) writeFileSync(options.write, bytes);
  const about = measuredOn(`npx tsx bench/context.ts --seed ${options.seed}`);
  const found = {
    load: loadavg()[0],
    join: join.name,
    trees: trees.size,
    bytes: bytes.length,
    micros,
    results,
  };
  writeFileSync(
    pathOf(packageRoot(), 'bench', 'results', 'context.json'),
    `${JSON.stringify({ ...about, ...found }, null, 1)}\n`,
  );
}

/** How scores become probabilities, and from which one on an item is served (src/context/item-probability.ts). */
async function calibrate(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const ranker = await shippedContextRanker();
  const world = simulatedWorld(Number(options.seed));
  const validation = await rankedQueries(world.training.slice(-VALIDATION_PERSONAS), 0, ranker, embedder);
  const test = await rankedQueries(world.test, 1, ranker, embedder);
  await embedder.close();
  const results: Record<string, unknown> = {};
  const ways: Readonly<Record<string, ItemScale>> = {
    'the model, as it ships': BY_MODEL,
    'the model, fitted anew': fitted(validation, BY_MODEL),
    'the model, whatever the query says': { ...BY_MODEL, none: 50, evidence: 0 },
    'signals alone, as they ship': BY_SIGNALS,
    'signals alone, fitted anew': fitted(validation, BY_SIGNALS),
  };
  for (const [name, scale] of Object.entries(ways)) {
    const [chosen, measured] = [validation, test].map((part) => servedAt(part, scale));
    const { threshold } = chooseThreshold(chosen, scale.speaks);
    results[name] = { scale, threshold, validation: chosen, test: measured };
    const weights = Object.entries(scale).map(([weight, value]) =>
      [weight, typeof value === 'number' ? value.toFixed(2) : value].join(' '),
    );
    console.log(`\n${name}: ${weights.join(', ')}; chosen threshold ${threshold}`);
    console.log(
      '| threshold | precision recall unneeded disturbed (a tool, no tool) misled: validation | test |\n|---|---|---|',
    );
    for (const [at, one] of chosen.entries()) {
      const cells = [one, measured[at]].map(({ precision, recall, unneeded, disturbed, misled }) =>
        [precision, recall, unneeded, ...disturbed, misled].map((value) => value.toFixed(1)).join(' '),
      );
      console.log(`| ${one.threshold} | ${cells.join(' | ')} |`);
    }
  }
  const about = measuredOn(`npx tsx bench/context.ts --part calibration --seed ${options.seed}`);
  const to = pathOf(packageRoot(), 'bench', 'results', 'context-calibration.json');
  writeFileSync(to, `${JSON.stringify({ ...about, results }, null, 1)}\n`);
}

await (options.part === 'calibration' ? calibrate() : main());
