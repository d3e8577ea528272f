/**
 * How does the filter of FiReAct hold up as the catalog grows (the question of Figure 4 of the paper)? Recall@1/5/10
 * and latency of day 0, with 100, 1,000, 10,000 and all 12,274 tools of a catalogue put together from public sets.
 *
 * The queries are those of one set. A group of them is asked of a small catalog that holds their tools and others
 * drawn at random, then of larger ones that hold the smaller; so every size answers the same queries.
 *
 *   npx tsx bench/fireact.ts [--data ../shared/data] [--model <folder>] [--groups 8]
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { OnnxEmbedder } from '../src/models/onnx/onnx-embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { ToolIndex } from '../src/retrieval/tool-index.ts';
import { loadKernels } from '../src/state/load-kernels.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    groups: { type: 'string', default: '8' },
  },
});

/** Whose queries are asked. */
const TARGETS = 'xlam-toolret';
/** Other tools, none of which is an unlabelled right answer. */
const DISTRACTORS = [
  'seal-tools',
  'mcp-zero',
  'ultratool',
  'toollinkos',
  'api-bank',
  'restbench',
  'toolalpaca',
  'bfcl-simple',
  'bfcl-multiturn',
];
const SIZES = [100, 1_000, 10_000, Number.POSITIVE_INFINITY];
/** Tools that the queries of one group need, at most: the smallest catalog holds some others too. */
const MOST_WANTED = 80;
const CUTS = [1, 5, 10] as const;
const METHODS = ['bm25', 'dense', 'both'] as const;

interface Tool {
  readonly id: string;
  readonly tool: ToolDefinition;
  readonly embedding: Float32Array;
}

interface Query {
  readonly query: string;
  readonly relevant: readonly string[];
  readonly alternatives?: Readonly<Record<string, readonly string[]>>;
}

interface Row {
  readonly tools: number;
  readonly queries: number;
  /** By method: at 1, 5, 10. */
  readonly recall: Record<(typeof METHODS)[number], number[]>;
  /** From the text of a query to its shortlist, ms; its embedding included. */
  readonly latency: { readonly p50: number; readonly p99: number };
}

async function readLines<T>(file: string): Promise<T[]> {
  const text = existsSync(file) ? await readFile(file) : gunzipSync(await readFile(`${file}.gz`));
  return text
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

async function readCatalogue(embedder: Embedder): Promise<Tool[]> {
  type Line = { id: string; name: string; description?: string; parameters?: Record<string, unknown> };
  const all: Tool[] = [];
  for (const set of [TARGETS, ...DISTRACTORS]) {
    const lines = await readLines<Line>(join(options.data, set, 'tools.jsonl'));
    const tools = lines.map(({ id, name, description, parameters }) => ({
      id: `${set}/${id}`,
      tool: { name, description: description ?? '', inputSchema: parameters ?? {} },
    }));
    const embeddings = await embedder.embedDocuments(tools.map(({ tool }) => denseText(tool)));
    for (const [at, one] of tools.entries()) all.push({ ...one, embedding: embeddings[at] });
  }
  return all;
}

/** Seeded, so that every run draws the same. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const all = [...items];
  let state = seed;
  for (let at = all.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (at + 1));
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all;
}

/** Queries that together need few tools, in groups. */
function groupsOf(queries: readonly Query[], known: ReadonlySet<string>): Query[][] {
  const groups: { queries: Query[]; wanted: Set<string> }[] = [];
  let current = { queries: [] as Query[], wanted: new Set<string>() };
  for (const query of shuffled(queries, 1)) {
    const ids = query.relevant.flatMap((id) => [id, ...(query.alternatives?.[id] ?? [])]);
    if (!query.relevant.every((id) => known.has(id))) continue;
    if (new Set([...current.wanted, ...ids]).size > MOST_WANTED) {
      groups.push(current);
      current = { queries: [], wanted: new Set() };
    }
    current.queries.push(query);
    for (const id of ids) current.wanted.add(id);
  }
  return groups.slice(0, Number(options.groups)).map((group) => group.queries);
}

function recallAt(cut: number, found: readonly string[], { relevant, alternatives }: Query): number {
  const top = new Set(found.slice(0, cut));
  const hits = relevant.filter((id) => [id, ...(alternatives?.[id] ?? [])].some((one) => top.has(one)));
  return hits.length / relevant.length;
}

class Tally {
  readonly #sums: Record<(typeof METHODS)[number], number[]> = {
    bm25: [0, 0, 0],
    dense: [0, 0, 0],
    both: [0, 0, 0],
  };
  readonly #times: number[] = [];
  #queries = 0;
  tools = 0;

  async ask(query: Query, tools: readonly Tool[], index: ToolIndex, embedder: Embedder): Promise<void> {
    const start = performance.now();
    const [embedding] = await embedder.embedQueries([query.query]);
    const tokens = tokenise(query.query);
    const both = index.search({ embedding, tokens, limit: 50 });
    this.#times.push(performance.now() - start);
    const results = {
      both,
      bm25: index.search({ embedding: null, tokens, limit: 50 }),
      dense: index.search({ embedding, tokens: new Uint32Array(0), limit: 50 }),
    };
    for (const method of METHODS) {
      const found = Array.from(results[method].candidates.slots, (slot) => tools[slot].id);
      for (const [at, cut] of CUTS.entries()) this.#sums[method][at] += recallAt(cut, found, query);
    }
    this.#queries++;
    this.tools = tools.length;
  }

  row(): Row {
    const times = this.#times.sort((a, b) => a - b);
    const mean = (sums: number[]): number[] => sums.map((sum) => sum / this.#queries);
    return {
      tools: this.tools,
      queries: this.#queries,
      recall: { bm25: mean(this.#sums.bm25), dense: mean(this.#sums.dense), both: mean(this.#sums.both) },
      latency: { p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] },
    };
  }
}

/** The tools of a catalog of this size: those that are wanted, then others in a fixed order. */
function catalogOf(size: number, wanted: ReadonlySet<string>, order: readonly Tool[]): Tool[] {
  const first = order.filter(({ id }) => wanted.has(id));
  return [...first, ...order.filter(({ id }) => !wanted.has(id))].slice(0, size);
}

function indexOf(tools: readonly Tool[], kernels: Kernels, dimensions: number): [ToolIndex, ToolVectors] {
  const vectors = new ToolVectors(kernels, dimensions);
  const index = new ToolIndex(kernels);
  index.reset(vectors);
  for (const [slot, { tool, embedding }] of tools.entries()) {
    vectors.put(slot, embedding);
    index.put({ slot, tool });
  }
  return [index, vectors];
}

async function main(): Promise<void> {
  if (!existsSync(join(options.data, TARGETS))) {
    console.log(`No ${TARGETS} in ${options.data} (option --data): nothing to measure.`);
    return;
  }
  const load = loadavg();
  const kernels = await loadKernels();
  const embedder = await OnnxEmbedder.open({ folder: options.model, cachedQueries: 0 });
  const catalogue = await readCatalogue(embedder);
  const order = shuffled(catalogue, 2);
  const prefixed = (id: string): string => `${TARGETS}/${id}`;
  const queries = (await readLines<Query>(join(options.data, TARGETS, 'queries.test.jsonl'))).map(
    ({ query, relevant, alternatives = {} }) => ({
      query,
      relevant: [...new Set(relevant)].map(prefixed),
      alternatives: Object.fromEntries(
        Object.entries(alternatives).map(([id, others]) => [prefixed(id), others.map(prefixed)]),
      ),
    }),
  );
  const groups = groupsOf(queries, new Set(catalogue.map(({ id }) => id)));
  const rows: Row[] = [];
  for (const size of SIZES) {
    const tally = new Tally();
    for (const group of groups) {
      const wanted = new Set(
        group.flatMap(({ relevant, alternatives }) => [
          ...relevant,
          ...relevant.flatMap((id) => alternatives?.[id] ?? []),
        ]),
      );
      const tools = catalogOf(size, wanted, order);
      const [index, vectors] = indexOf(tools, kernels, embedder.dimensions);
      for (const query of group) await tally.ask(query, tools, index, embedder);
      index.free();
      vectors.free();
    }
    rows.push(tally.row());
  }
  // For comparison with others: every query, all tools.
  const [index, vectors] = indexOf(catalogue, kernels, embedder.dimensions);
  const every = new Tally();
  for (const query of queries) await every.ask(query, catalogue, index, embedder);
  rows.push(every.row());
  index.free();
  vectors.free();
  await embedder.close();

  console.log('Recall@1 @5 @10; the last line asks every query of the set\n');
  console.log('| tools | queries | BM25 | embedding | both | p50 ms | p99 ms |');
  console.log('|--:|--:|---|---|---|--:|--:|');
  for (const { tools, queries: asked, recall, latency } of rows) {
    const cells = METHODS.map((method) => recall[method].map((value) => value.toFixed(3)).join(' '));
    console.log(
      `| ${[tools, asked, ...cells, latency.p50.toFixed(2), latency.p99.toFixed(2)].join(' | ')} |`,
    );
  }
  console.log(`\nload average ${load[0].toFixed(1)} … ${loadavg()[0].toFixed(1)}`);
  const folder = join(packageRoot(), 'bench', 'results');
  await mkdir(folder, { recursive: true });
  const report = { ...measuredOn('npx tsx bench/fireact.ts'), model: basename(options.model), load, rows };
  await writeFile(join(folder, 'fireact.json'), `${JSON.stringify(report, null, 2)}\n`);
}

await main();
