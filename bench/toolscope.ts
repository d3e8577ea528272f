import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { splitQuery } from '../src/queries/split-query.ts';
import type { SearchedText } from '../src/retrieval/searched-texts.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { toolscopeScores, toolsOf } from '../src/routing/toolscope-slate.ts';
import { measuredOn } from './measured-on.ts';
import { type LabelledQuery, recallAt, ToolSet } from './queries/tool-set.ts';

/** Which slate has the right tools: ours (fused scores of the whole query and its parts), or that of ToolScope's retriever? */
const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    sets: { type: 'string', default: '' },
  },
});

const SETS = [
  { set: 'seal-tools', split: 'dev', use: 'chosen on' },
  { set: 'seal-tools', split: 'test', use: 'kept aside' },
  { set: 'bfcl-simple', split: 'test', use: 'kept aside' },
  { set: 'bfcl-parallel', split: 'parallel_multiple', use: 'kept aside' },
  { set: 'ultratool', split: 'test', use: 'kept aside; another subset than the paper’s' },
] as const;
const CANDIDATES = 50;
const KS = [1, 5, 10, 15] as const;

/**
 * What the paper reports, after its merger and with a cross-encoder: Recall@5 and @10 (Table 5; bfcl @1, @5, @10), and CSR@5 of GPT-4o,
 * which selects among 5 tools (Table 4).
 */
const PAPER =
  'The paper: seal-tools test Recall@5 .884, @10 .935, CSR@5 .875 (.890 with auto-correction); bfcl-simple Recall@1 .880, @5 .973, @10 .985, CSR@5 .912 (.938).';

/** How the tools of a query are ordered: ids, best first. */
type Way = (set: ToolSet, whole: SearchedText, parts: readonly SearchedText[]) => string[];

const ids = (set: ToolSet, slots: Iterable<number>): string[] => Array.from(slots, (slot) => set.ids[slot]);

const WAYS: Readonly<Record<string, Way>> = {
  'whole query': (set, whole) => ids(set, set.index.search({ ...whole, limit: CANDIDATES }).candidates.slots),
  ours: (set, whole, parts) =>
    ids(set, set.index.search({ ...whole, parts, limit: CANDIDATES }).candidates.slots),
  toolscope: (set, whole, parts) => {
    const scores = toolscopeScores(
      (parts.length > 0 ? parts : [whole]).map((part) => toolsOf(part, set.index)),
    );
    const order = [...scores].sort(([slot, score], [other, more]) => more - score || slot - other);
    return ids(
      set,
      order.map(([slot]) => slot),
    );
  },
};

interface Row {
  readonly set: string;
  readonly use: string;
  readonly way: string;
  readonly queries: number;
  /** By k of `KS`. */
  readonly recall: readonly number[];
  /** Share of the queries all of whose tools are among the first k. */
  readonly complete: readonly number[];
  /** Correct selection rate: exactly the wanted tools, where the best tool of each sub-query is called. */
  readonly csr: number;
  /** The same, among those that are within reach: as many sub-queries as wanted tools. */
  readonly csrOfRightCount: number;
  /** Median, µs, from vectors to the order. */
  readonly microseconds: number;
}

/** Adds up what one way of ordering finds. */
class Tally {
  readonly #recall = KS.map(() => 0);
  readonly #complete = KS.map(() => 0);
  readonly #times: number[] = [];
  #exact = 0;
  #rightCount = 0;
  #queries = 0;

  add(query: LabelledQuery, found: readonly string[], needs: number, microseconds: number): void {
    this.#queries++;
    this.#times.push(microseconds);
    for (const [at, k] of KS.entries()) {
      const recall = recallAt(k, found, query);
      this.#recall[at] += recall;
      if (recall === 1) this.#complete[at]++;
    }
    if (needs !== query.relevant.length) return;
    this.#rightCount++;
    if (recallAt(needs, found, query) === 1) this.#exact++;
  }

  row(): Omit<Row, 'set' | 'use' | 'way'> {
    const share = (count: number): number => count / this.#queries;
    return {
      queries: this.#queries,
      recall: this.#recall.map(share),
      complete: this.#complete.map(share),
      csr: share(this.#exact),
      csrOfRightCount: this.#exact / Math.max(1, this.#rightCount),
      microseconds: this.#times.sort((a, b) => a - b)[this.#queries >> 1],
    };
  }
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  const wanted = options.sets.split(',').filter((name) => name !== '');
  const rows: Row[] = [];
  for (const { set: name, split, use } of SETS) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const set = await ToolSet.open(options.data, name, embedder);
    if (set === null) continue;
    const tallies = Object.keys(WAYS).map(() => new Tally());
    for (const query of set.queries(split, 5000)) {
      const parts = splitQuery(query.query);
      const texts = [query.query, ...(parts.length > 1 ? parts : [])];
      const embeddings = await embedder.embedQueries(texts);
      const [whole, ...others] = texts.map((text, at) => ({
        tokens: tokenise(text),
        embedding: embeddings[at],
      }));
      for (const [at, way] of Object.values(WAYS).entries()) {
        const start = performance.now();
        const found = way(set, whole, others);
        tallies[at].add(query, found, parts.length, (performance.now() - start) * 1000);
      }
    }
    for (const [at, way] of Object.keys(WAYS).entries()) {
      rows.push({ set: `${name} ${split}`, use, way, ...tallies[at].row() });
    }
    set.free();
  }
  await embedder.close();
  if (rows.length === 0) {
    console.log(`No data sets in ${options.data} (option --data): nothing was measured.`);
    return;
  }
  print(rows);
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const result = {
    ...measuredOn('npx tsx bench/toolscope.ts'),
    model: basename(options.model),
    ks: KS,
    rows,
  };
  writeFileSync(join(folder, 'toolscope.json'), `${JSON.stringify(result, null, 2)}\n`);
}

function print(rows: readonly Row[]): void {
  const heads = [
    ...['set', 'way', 'queries'],
    ...KS.map((k) => `Recall@${k}`),
    ...KS.map((k) => `complete@${k}`),
    ...['CSR', 'CSR where the number is right', 'µs'],
  ];
  console.log(`| ${heads.join(' | ')} |`);
  console.log(`|---|---|${'--:|'.repeat(heads.length - 2)}`);
  for (const { set, way, queries, recall, complete, csr, csrOfRightCount, microseconds } of rows) {
    const shares = [...recall, ...complete, csr, csrOfRightCount].map((share) => share.toFixed(3));
    console.log(`| ${[set, way, queries, ...shares, microseconds.toFixed(0)].join(' | ')} |`);
  }
  console.log(`\n${PAPER}`);
}

await main();
