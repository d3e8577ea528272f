/**
 * Does taking a query apart find more of the tools that it needs, and does it do harm where it needs one? Retrieval
 * alone, with the deterministic splitter and without, on sets with several tools per query and with one.
 *
 *   npx tsx bench/decomposition.ts [--data ../shared/data] [--model <folder>] [--sets seal-tools,…] [--limit 5000]
 *                                  [--learn]
 *
 * With --learn also: does a learner that sees decomposed queries learn as much? Some minutes.
 * What is tuned (part-scores.ts, split-query.ts) was tuned on the sets marked "tuned on", and on nothing else.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { splitQuery } from '../src/queries/split-query.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { measuredOn } from './measured-on.ts';
import { type LearnedRow, learned } from './queries/learned.ts';
import { type LabelledQuery, recallAt, SAMPLE, ToolSet } from './queries/tool-set.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    sets: { type: 'string', default: '' },
    limit: { type: 'string', default: '5000' },
    learn: { type: 'boolean', default: false },
  },
});

type Use = 'tuned on' | 'several tools' | 'one tool';
const SPLITS: readonly (readonly [set: string, split: string, use: Use])[] = [
  ['seal-tools', 'dev', 'tuned on'],
  ['toollens', 'train', 'tuned on'],
  [SAMPLE, 'learn', 'tuned on'],
  [SAMPLE, 'unseen', 'several tools'],
  ['seal-tools', 'test', 'several tools'],
  ['seal-tools', 'test_in_domain', 'several tools'],
  ['toollens', 'test', 'several tools'],
  ['bfcl-parallel', 'parallel_multiple', 'several tools'],
  ['bfcl-parallel', 'parallel', 'one tool'],
  ['bfcl-multiturn', 'test', 'several tools'],
  ['stabletoolbench', 'test', 'several tools'],
  ['ultratool', 'test', 'several tools'],
  ['toollinkos', 'test', 'several tools'],
  ['restbench', 'spotify', 'several tools'],
  ['restbench', 'tmdb', 'several tools'],
  ['api-bank', 'level1', 'several tools'],
  ['xlam-toolret', 'test', 'several tools'],
  ['bfcl-simple', 'test', 'one tool'],
  ['mcp-zero', 'test', 'one tool'],
  ['toolalpaca', 'test_real', 'one tool'],
  ['toolalpaca', 'test_simulated', 'one tool'],
];
const CANDIDATES = 50;
/** Recall@5 may not fall by more. */
const TOLERANCE = 0.005;

interface Quality {
  readonly recall5: number;
  readonly complete5: number;
  readonly recall10: number;
  /** Share of the wanted tools among the candidates. */
  readonly candidates: number;
  /** Median, µs, embedding and search. */
  readonly microseconds: number;
}

interface Row {
  readonly set: string;
  readonly use: Use;
  readonly tools: number;
  readonly queries: number;
  /** Share of the queries that were split, and the mean number of their parts. */
  readonly split: number;
  readonly parts: number;
  readonly whole: Quality;
  readonly decomposed: Quality;
}

async function measure(set: ToolSet, queries: readonly LabelledQuery[], embedder: Embedder) {
  const whole = new Tally();
  const decomposed = new Tally();
  let split = 0;
  let parts = 0;
  for (const query of queries) {
    const found = splitQuery(query.query);
    if (found.length > 1) {
      split++;
      parts += found.length;
    }
    const wholeResult = await retrieve(set, query, [], embedder);
    whole.add(query, ...wholeResult);
    // An unsplit query takes the very same way: no need to go it twice.
    decomposed.add(query, ...(found.length > 1 ? await retrieve(set, query, found, embedder) : wholeResult));
  }
  return {
    queries: queries.length,
    split: split / queries.length,
    parts: parts / Math.max(1, split),
    whole: whole.quality(),
    decomposed: decomposed.quality(),
  };
}

async function retrieve(
  set: ToolSet,
  { query }: LabelledQuery,
  parts: readonly string[],
  embedder: Embedder,
): Promise<[found: string[], microseconds: number]> {
  const start = performance.now();
  const texts = [query, ...parts];
  const embeddings = await embedder.embedQueries(texts);
  const [whole, ...others] = texts.map((text, at) => ({ tokens: tokenise(text), embedding: embeddings[at] }));
  const { candidates } = set.index.search({ ...whole, parts: others, limit: CANDIDATES });
  const microseconds = (performance.now() - start) * 1000;
  return [Array.from(candidates.slots, (slot) => set.ids[slot]), microseconds];
}

class Tally {
  #count = 0;
  #recall5 = 0;
  #complete5 = 0;
  #recall10 = 0;
  #candidates = 0;
  readonly #times: number[] = [];

  add(query: LabelledQuery, found: readonly string[], microseconds: number): void {
    const recall5 = recallAt(5, found, query);
    this.#count++;
    this.#recall5 += recall5;
    this.#complete5 += recall5 === 1 ? 1 : 0;
    this.#recall10 += recallAt(10, found, query);
    this.#candidates += recallAt(CANDIDATES, found, query);
    this.#times.push(microseconds);
  }

  quality(): Quality {
    return {
      recall5: this.#recall5 / this.#count,
      complete5: this.#complete5 / this.#count,
      recall10: this.#recall10 / this.#count,
      candidates: this.#candidates / this.#count,
      microseconds: this.#times.sort((a, b) => a - b)[this.#count >> 1],
    };
  }
}

function print(rows: readonly Row[]): void {
  console.log('whole query → decomposed; "!" = Recall@5 fell by more than 0.005; medians in µs\n');
  console.log(
    '| set | use | tools | queries | split | parts | Recall@5 | complete@5 | Recall@10 | Recall@50 | µs |',
  );
  console.log('|---|---|--:|--:|--:|--:|---|---|---|---|---|');
  for (const { set, use, tools, queries, split, parts, whole, decomposed } of rows) {
    const change = (name: keyof Quality): string => {
      const digits = name === 'microseconds' ? 0 : 3;
      return `${whole[name].toFixed(digits)} → ${decomposed[name].toFixed(digits)}`;
    };
    const fell = decomposed.recall5 < whole.recall5 - TOLERANCE ? ' !' : '';
    const share = `${(split * 100).toFixed(0)} %`;
    const changes = [
      `${change('recall5')}${fell}`,
      change('complete5'),
      change('recall10'),
      change('candidates'),
    ];
    const cells = [set, use, tools, queries, share, parts.toFixed(1), ...changes, change('microseconds')];
    console.log(`| ${cells.join(' | ')} |`);
  }
}

const LEARNED = [
  { set: 'seal-tools', splits: ['dev', 'test'], steps: 700 },
  { set: 'toollens', splits: ['train', 'test'], steps: 4000 },
] as const;

async function learn(present: ReadonlySet<string>, embedder: Embedder): Promise<LearnedRow[]> {
  const rows: LearnedRow[] = [];
  for (const { set, splits, steps } of LEARNED) {
    if (present.has(`${set} ${splits[1]}`))
      rows.push(...(await learned(options.data, set, splits, steps, embedder)));
  }
  return rows;
}

function printLearned(rows: readonly LearnedRow[]): void {
  if (rows.length === 0) return;
  console.log(
    '\n| learned | queries | steps | online | Recall@5 before → after | complete@5 before → after |',
  );
  console.log('|---|---|--:|--:|---|---|');
  for (const { set, decomposed, steps, online, before, after } of rows) {
    const recall = `${before.recall5.toFixed(3)} → ${after.recall5.toFixed(3)}`;
    const complete = `${before.complete5.toFixed(3)} → ${after.complete5.toFixed(3)}`;
    const cells = [set, decomposed ? 'decomposed' : 'whole', steps, online.toFixed(3), recall, complete];
    console.log(`| ${cells.join(' | ')} |`);
  }
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  const wanted = options.sets.split(',').filter((name) => name !== '');
  const rows: Row[] = [];
  for (const [name, split, use] of SPLITS) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const set = await ToolSet.open(options.data, name, embedder);
    if (set === null) continue;
    const measured = await measure(set, set.queries(split, Number(options.limit)), embedder);
    rows.push({ set: `${name} ${split}`, use, tools: set.ids.length, ...measured });
    set.free();
  }
  const present = new Set(rows.map(({ set }) => set));
  const after = options.learn ? await learn(present, embedder) : [];
  await embedder.close();
  if (!rows.some(({ set }) => !set.startsWith(SAMPLE))) {
    console.log(`No data sets in ${options.data} (option --data): only the sample catalog was measured.\n`);
  }
  print(rows);
  printLearned(after);
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const result = {
    ...measuredOn('npx tsx bench/decomposition.ts'),
    model: options.model,
    rows,
    learned: after,
  };
  writeFileSync(join(folder, 'decomposition.json'), `${JSON.stringify(result, null, 2)}\n`);
}

await main();
