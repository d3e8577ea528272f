/**
 * Does retrieval find the right tools, and how long does each stage take? Recall@1/5/10 of BM25, embedding, both
 * together, and both after a closer look of a reranker, on public data sets, beside what a reference implementation
 * in another language reached with the same texts (expected values for two models only).
 *
 *   npx tsx bench/retrieval.ts [--model models/tool-static-256] [--reranker <folder>] [--sets a,b] [--queries 100]
 */
import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { OnnxReranker } from '../src/models/onnx/onnx-reranker.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import type { Reranker } from '../src/models/reranker.ts';
import { rerankText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { recallAt, ToolSet } from './queries/tool-set.ts';
import { REFERENCE, REFERENCE_MINILM, type Recalls, type Reference } from './retrieval/reference.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    /** A folder with a cross-encoder. */
    reranker: { type: 'string' },
    sets: { type: 'string', default: '' },
    /** So many of each split, evenly spread; a reranker takes its time. */
    queries: { type: 'string' },
  },
});

const TOLERANCE = 0.01;
const METHODS = ['bm25', 'dense', 'both', 'reranked'] as const;
const STAGES = ['tokenise', 'embed', 'bm25', 'search', 'rerank'] as const;
/** Candidates of retrieval, and what the reranker looks at, as in the service. */
const LIMIT = 50;
/** Longer than any reranker takes: how long it does take is measured. */
const BUDGET_MS = 600_000;
const NO_TOKENS = new Uint32Array(0);

interface Row {
  readonly set: string;
  readonly tools: number;
  readonly queries: number;
  /** Null: there is no reranker. */
  readonly recall: Record<(typeof METHODS)[number], Recalls | null>;
  readonly worstDifference: number | null;
  readonly expected: Partial<Reference>;
  /** Medians, µs; null as above. */
  readonly latency: Record<(typeof STAGES)[number], number | null>;
}

async function measure(
  set: string,
  split: string,
  embedder: Embedder,
  reranker: Reranker | null,
): Promise<Row> {
  const tools = await ToolSet.open(options.data, set, embedder);
  if (tools === null) throw new Error(`There is no set ${set} in ${options.data}.`);
  const { index, ids } = tools;
  const documents = tools.definitions.map(rerankText);
  const queries = tools.queries(split, Number(options.queries ?? Infinity));
  const sums: Record<string, number[]> = {};
  const times: Record<string, number[]> = {};
  const timed = async <T>(stage: (typeof STAGES)[number], work: () => T | Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    times[stage] ??= [];
    times[stage].push((performance.now() - start) * 1000);
    return result;
  };
  for (const query of queries) {
    const tokens = await timed('tokenise', () => tokenise(query.query));
    const [embedding] = await timed('embed', () => embedder.embedQueries([query.query]));
    const whole = { embedding, tokens, limit: LIMIT };
    const found: Partial<Record<(typeof METHODS)[number], Int32Array>> = {
      bm25: await timed('bm25', () => index.search({ ...whole, embedding: null }).candidates.slots),
      dense: index.search({ ...whole, tokens: NO_TOKENS }).candidates.slots,
      both: await timed('search', () => index.search(whole).candidates.slots),
    };
    if (reranker !== null) {
      const slots = [...found.both!];
      const texts = slots.map((slot) => documents[slot]);
      const answer = await timed('rerank', () => reranker.rerank(query.query, texts, BUDGET_MS));
      if ('missing' in answer) throw new Error(`No reranking: ${answer.missing}.`);
      const rerank = new Map(slots.map((slot, at) => [slot, answer.scores[at]]));
      found.reranked = index.search({ ...whole, rerank }).candidates.slots;
    }
    for (const [method, slots] of Object.entries(found)) {
      sums[method] ??= [0, 0, 0];
      const names = Array.from(slots, (slot) => ids[slot]);
      for (const [at, k] of [1, 5, 10].entries()) sums[method][at] += recallAt(k, names, query);
    }
  }
  const means = METHODS.map((method) => [method, sums[method]?.map((sum) => sum / queries.length) ?? null]);
  const recall: Row['recall'] = Object.fromEntries(means);
  // Some of the queries say nothing about what all of them should come to.
  const expected = options.queries === undefined ? expectedOf(`${set} ${split}`, embedder) : {};
  const differences = Object.entries(expected).flatMap(([method, values]) =>
    values.map((value, at) => Math.abs(value - recall[method as keyof Reference]![at])),
  );
  const row = {
    set: `${set} ${split}`,
    tools: ids.length,
    queries: queries.length,
    recall,
    worstDifference: differences.length === 0 ? null : Math.max(...differences),
    expected,
    latency: Object.fromEntries(
      STAGES.map((stage) => [stage, stage in times ? median(times[stage]) : null]),
    ) as Row['latency'],
  };
  tools.free();
  return row;
}

/** What is known about this model; a reference of the sum exists for the model of the repository only. */
function expectedOf(name: string, { dimensions }: Embedder): Partial<Reference> {
  const model = basename(options.model);
  if (dimensions === 256 && model === 'tool-static-256') return REFERENCE[name];
  const { bm25 } = REFERENCE[name];
  return model === 'minilm-int8' ? { bm25, dense: REFERENCE_MINILM[name] } : { bm25 };
}

function print(rows: readonly Row[]): void {
  const format = (values: Recalls | null, expected: Recalls | undefined): string =>
    values
      ?.map((value, at) => {
        const off = expected !== undefined && Math.abs(value - expected[at]) > TOLERANCE;
        return `${value.toFixed(3)}${off ? `!${expected[at].toFixed(3)}` : ''}`;
      })
      .join(' ') ?? '–';
  console.log(
    'Recall@1 @5 @10; "!" = off by more than 0.01 from the expected value that follows; medians in µs\n',
  );
  const heads = ['set', 'tools', 'queries', 'BM25', 'dense', 'both', '+ reranker', 'worst difference'];
  console.log(`| ${[...heads, 'tokenise', 'embed', 'BM25', 'search', 'rerank'].join(' | ')} |`);
  console.log('|---|--:|--:|---|---|---|---|--:|--:|--:|--:|--:|--:|');
  for (const { set, tools, queries, recall, worstDifference, expected, latency } of rows) {
    const cells = METHODS.map((method) => format(recall[method], expected[method as keyof Reference]));
    const times = STAGES.map((stage) => latency[stage]?.toFixed(0) ?? '–');
    console.log(
      `| ${[set, tools, queries, ...cells, worstDifference?.toFixed(4) ?? '–', ...times].join(' | ')} |`,
    );
  }
}

async function main(): Promise<void> {
  let present: string[];
  try {
    present = readdirSync(options.data);
  } catch {
    console.log(`No data sets in ${options.data} (option --data): nothing to measure.`);
    return;
  }
  const embedder = await openModelFolder(options.model);
  const reranker =
    options.reranker === undefined
      ? null
      : await OnnxReranker.open({ folder: options.reranker, now: Date.now });
  const wanted = options.sets.split(',').filter(Boolean);
  const rows: Row[] = [];
  for (const name of Object.keys(REFERENCE)) {
    const [set, split] = name.split(' ');
    if (!present.includes(set) || (wanted.length > 0 && !wanted.includes(set))) continue;
    rows.push(await measure(set, split, embedder, reranker));
  }
  await embedder.close();
  await reranker?.close();
  print(rows);
  // Some sets are for looking only.
  if (wanted.length === 0) await write(rows);
}

async function write(rows: readonly Row[]): Promise<void> {
  const folder = join(packageRoot(), 'bench', 'results');
  await mkdir(folder, { recursive: true });
  const { queries } = options;
  const model = basename(options.model);
  const reranker = options.reranker === undefined ? null : basename(options.reranker);
  const isDefault = model === 'tool-static-256';
  const words = [
    ...(isDefault ? [] : [`--model ${model}`]),
    ...(reranker === null ? [] : [`--reranker ${reranker}`]),
    ...(queries === undefined ? [] : [`--queries ${queries}`]),
  ];
  const command = ['npx tsx bench/retrieval.ts', ...words].join(' ');
  const report = { ...measuredOn(command), load: loadavg(), model, reranker, rows };
  const name = ['retrieval', ...words.map((word) => word.split(' ')[1])].join('-');
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
}

await main();
