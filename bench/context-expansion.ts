/**
 * What do the thoughts of a chat model (Context Tuning, appendix A.6) add to the model that ships, which learned from queries without them, and
 * how are they best told to it: in place of the query, beside it, in words or in vectors?
 *
 *   npx tsx bench/context-expansion.ts
 *
 * Served are the best three that are likely enough to be needed; of a new user nothing is known but the items. Users, queries and scripted thoughts are those of bench/context.ts, with seed 1; nothing is trained. The service does the last row but one.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContextRanker } from '../bandit/ranking/context-ranker.ts';
import { UsageSignals } from '../bandit/ranking/usage-signals.ts';
import { packageRoot } from '../config/package-root.ts';
import { BY_MODEL, servedItems } from '../src/context/item-probability.ts';
import { shippedContextRanker } from '../src/context/shipped-ranker.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { type Judged, judge } from './context/judged.ts';
import { simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const VALIDATION_PERSONAS = 65;
const KS = [3, 5, 10];

type Vector = (judged: Judged) => Float32Array;
const plain: Vector = ({ embedding }) => embedding;
const thoughtful: Vector = ({ thoughtEmbedding }) => thoughtEmbedding;
const both =
  (weight: number): Vector =>
  ({ embedding, thoughtEmbedding }) => {
    const sum = embedding.map((value, i) => value + weight * thoughtEmbedding[i]);
    const length = Math.hypot(...sum);
    return sum.map((value) => value / length);
  };

const WAYS: Readonly<Record<string, readonly [vector: Vector, words: 'words' | 'thoughtWords']>> = {
  'without thoughts': [plain, 'words'],
  'in place of the query: words and vector': [thoughtful, 'thoughtWords'],
  'the vector alone': [thoughtful, 'words'],
  'the words alone': [plain, 'thoughtWords'],
  'words, and both vectors, as 1 to .25': [both(0.25), 'thoughtWords'],
  'words, and both vectors, as 1 to .5': [both(0.5), 'thoughtWords'],
  'words, and both vectors, as 1 to 1': [both(1), 'thoughtWords'],
};

interface Found {
  /** Mean Recall@3, @5 and @10, percent. */
  readonly recall: readonly number[];
  /** Recall and precision of what is served, percent. */
  readonly served: readonly number[];
}

/** @param isNew nobody used anything before */
function found(all: readonly Judged[], way: string, ranker: ContextRanker, isNew = false): Found {
  const [vector, words] = WAYS[way];
  const recall = KS.map(() => 0);
  let [share, hits, served] = [0, 0, 0];
  for (const judged of all) {
    const candidates = judged.candidates.map((one, at) => ({
      ...one,
      words: judged[words][at],
      ...(isNew && { usage: new UsageSignals() }),
    }));
    const ranked = ranker.rank(candidates, { ...judged.moment, query: vector(judged) });
    const needed = judged.relevant.filter(Boolean).length;
    for (const [i, k] of KS.entries()) {
      recall[i] += ranked.slice(0, k).filter(({ item }) => judged.relevant[item]).length / needed;
    }
    const three = servedItems(ranked, BY_MODEL, 3);
    const right = three.filter(({ item }) => judged.relevant[item]).length;
    share += right / needed;
    hits += right;
    served += three.length;
  }
  return {
    recall: recall.map((sum) => (100 * sum) / all.length),
    served: [(100 * share) / all.length, (100 * hits) / served],
  };
}

const embedder = await openModelFolder(bundledModelFolder());
const world = simulatedWorld(1);
const validation = await judge(world.training.slice(-VALIDATION_PERSONAS), embedder);
const test = await judge(world.test, embedder);
await embedder.close();
const ranker = await shippedContextRanker();
if (ranker === null) throw new Error('The model that ships is not there.');
const shown = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(' ');
const results: Record<string, Found[]> = {};
console.log(`${validation.length} queries to choose on, ${test.length} to test on\n`);
console.log(
  '| | to choose on: Recall@3 @5 @10 | test | served, to choose on: recall, precision | test | new users, to choose on | test |\n|---|---|---|---|---|---|---|',
);
for (const way of Object.keys(WAYS)) {
  const known = [validation, test].map((all) => found(all, way, ranker));
  const fresh = [validation, test].map((all) => found(all, way, ranker, true));
  results[way] = [...known, ...fresh];
  const cells = [...known.map(({ recall }) => recall), ...results[way].map(({ served }) => served)];
  console.log(`| ${way} | ${cells.map(shown).join(' | ')} |`);
}
writeFileSync(
  join(packageRoot(), 'bench', 'results', 'context-expansion.json'),
  `${JSON.stringify({ ...measuredOn('npx tsx bench/context-expansion.ts'), results }, null, 1)}\n`,
);
