/**
 * Does retrieval find the right tools, and how long does each stage take? Recall@1/5/10 of BM25, embedding and both
 * together on public data sets, beside what a reference implementation in another language reached with the same
 * texts (expected values for the model of the repository only).
 */
import { readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import { loadKernels } from '../src/load-kernels.ts';
import { packageRoot } from '../src/package-root.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import type { Embedder } from '../src/retrieval/embedder.ts';
import { OnnxEmbedder } from '../src/retrieval/onnx-embedder.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { ToolIndex } from '../src/retrieval/tool-index.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    sets: { type: 'string', default: '' },
  },
});

type Recalls = readonly [at1: number, at5: number, at10: number];
interface Expected {
  readonly bm25: Recalls;
  readonly dense: Recalls;
  readonly both: Recalls;
}
const TOLERANCE = 0.01;
const METHODS = ['bm25', 'dense', 'both'] as const;

/** Recall@1/5/10 of the reference: BM25, tool-static-256, their sum. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  'seal-tools test': expect(0.387, 0.791, 0.876, 0.324, 0.606, 0.72, 0.393, 0.784, 0.876),
  'seal-tools test_in_domain': expect(0.476, 0.835, 0.908, 0.405, 0.657, 0.758, 0.488, 0.833, 0.902),
  'seal-tools dev': expect(0.477, 0.847, 0.912, 0.418, 0.659, 0.767, 0.484, 0.844, 0.913),
  'bfcl-simple test': expect(0.8, 0.968, 0.983, 0.752, 0.96, 0.98, 0.825, 0.97, 0.98),
  'bfcl-parallel parallel': expect(0.85, 0.93, 0.96, 0.72, 0.925, 0.955, 0.835, 0.965, 0.98),
  'bfcl-parallel parallel_multiple': expect(0.383, 0.845, 0.919, 0.32, 0.681, 0.81, 0.399, 0.843, 0.911),
  'bfcl-multiturn test': expect(0.17, 0.538, 0.715, 0.138, 0.461, 0.617, 0.181, 0.561, 0.755),
  'ultratool test': expect(0.287, 0.682, 0.829, 0.221, 0.598, 0.724, 0.314, 0.721, 0.855),
  'toollens test': expect(0.152, 0.311, 0.381, 0.08, 0.211, 0.286, 0.145, 0.316, 0.394),
  'stabletoolbench test': expect(0.285, 0.608, 0.696, 0.228, 0.533, 0.637, 0.288, 0.628, 0.73),
  'toollinkos test': expect(0.134, 0.218, 0.255, 0.155, 0.241, 0.273, 0.152, 0.234, 0.267),
  'mcp-zero test': expect(0.78, 0.931, 0.957, 0.765, 0.92, 0.948, 0.834, 0.953, 0.971),
  'api-bank level1': expect(0.478, 0.747, 0.863, 0.47, 0.762, 0.871, 0.485, 0.78, 0.925),
  'api-bank level2': expect(0.398, 0.735, 0.857, 0.449, 0.704, 0.857, 0.418, 0.694, 0.939),
  'restbench spotify': expect(0.244, 0.583, 0.8, 0.303, 0.557, 0.716, 0.289, 0.648, 0.849),
  'restbench tmdb': expect(0.193, 0.46, 0.564, 0.23, 0.458, 0.545, 0.242, 0.449, 0.598),
  'toolalpaca test_real': expect(0.602, 0.861, 0.917, 0.597, 0.884, 0.907, 0.648, 0.88, 0.944),
  'toolalpaca test_simulated': expect(0.725, 0.918, 0.973, 0.681, 0.951, 0.978, 0.736, 0.951, 0.978),
  'xlam-toolret test': expect(0.588, 0.812, 0.865, 0.545, 0.777, 0.841, 0.634, 0.852, 0.897),
};

/** The same for the embedding alone, all-MiniLM-L6-v2 in int8. */
const EXPECTED_MINILM: Readonly<Record<string, Recalls>> = {
  'seal-tools test': [0.301, 0.533, 0.636],
  'seal-tools test_in_domain': [0.391, 0.614, 0.688],
  'seal-tools dev': [0.387, 0.619, 0.701],
  'bfcl-simple test': [0.76, 0.975, 0.988],
  'bfcl-parallel parallel': [0.725, 0.95, 0.99],
  'bfcl-parallel parallel_multiple': [0.314, 0.722, 0.831],
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: a recall that looks like a logarithm
  'bfcl-multiturn test': [0.154, 0.434, 0.592],
  'ultratool test': [0.274, 0.639, 0.763],
  'toollens test': [0.103, 0.245, 0.335],
  'stabletoolbench test': [0.244, 0.512, 0.618],
  'toollinkos test': [0.161, 0.236, 0.268],
  'mcp-zero test': [0.703, 0.873, 0.914],
  'api-bank level1': [0.503, 0.787, 0.869],
  'api-bank level2': [0.531, 0.755, 0.775],
  'restbench spotify': [0.294, 0.57, 0.722],
  'restbench tmdb': [0.24, 0.448, 0.606],
  'toolalpaca test_real': [0.551, 0.875, 0.917],
  'toolalpaca test_simulated': [0.659, 0.956, 0.995],
  'xlam-toolret test': [0.553, 0.78, 0.848],
};

function expect(...n: number[]): Expected {
  return { bm25: [n[0], n[1], n[2]], dense: [n[3], n[4], n[5]], both: [n[6], n[7], n[8]] };
}

interface LabelledQuery {
  readonly query: string;
  readonly relevant: readonly string[];
  readonly alternatives?: Readonly<Record<string, readonly string[]>>;
}

interface Row {
  readonly set: string;
  readonly tools: number;
  readonly queries: number;
  readonly recall: Record<(typeof METHODS)[number], Recalls>;
  readonly worstDifference: number | null;
  readonly expected: Partial<Expected>;
  /** Medians, µs. */
  readonly latency: Record<'tokenise' | 'embed' | 'bm25' | 'search', number>;
}

async function readLines<T>(file: string): Promise<T[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** The tools of a set without server and category, as the reference read them. */
async function readTools(set: string): Promise<{ id: string; tool: ToolDefinition }[]> {
  type Line = { id: string; name: string; description: string; parameters: Record<string, unknown> };
  const lines = await readLines<Line>(join(options.data, set, 'tools.jsonl'));
  return lines.map(({ id, name, description, parameters }) => ({
    id,
    tool: { name, description: description ?? '', inputSchema: parameters ?? {} },
  }));
}

async function indexTools(
  tools: readonly { tool: ToolDefinition }[],
  embedder: Embedder,
  kernels: Kernels,
): Promise<ToolIndex> {
  const vectors = new ToolVectors(kernels, embedder.dimensions);
  const embeddings = await embedder.embedDocuments(tools.map(({ tool }) => denseText(tool)));
  const index = new ToolIndex(kernels);
  index.reset(vectors);
  for (const [slot, { tool }] of tools.entries()) {
    vectors.put(slot, embeddings[slot]);
    index.put({ slot, tool });
  }
  return index;
}

/** Share of the wanted tools among the first k; one of a tool's alternatives stands for it. */
function recallAt(k: number, found: readonly string[], { relevant, alternatives }: LabelledQuery): number {
  const top = new Set(found.slice(0, k));
  const hits = relevant.filter((id) => [id, ...(alternatives?.[id] ?? [])].some((other) => top.has(other)));
  return hits.length / relevant.length;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

async function measure(set: string, split: string, embedder: Embedder, kernels: Kernels): Promise<Row> {
  const tools = await readTools(set);
  const known = new Set(tools.map(({ id }) => id));
  const queries = (await readLines<LabelledQuery>(join(options.data, set, `queries.${split}.jsonl`)))
    .map((one) => ({ ...one, relevant: [...new Set(one.relevant)].filter((id) => known.has(id)) }))
    .filter(({ relevant }) => relevant.length > 0);
  const index = await indexTools(tools, embedder, kernels);
  const sums = { bm25: [0, 0, 0], dense: [0, 0, 0], both: [0, 0, 0] };
  const times = {
    tokenise: [] as number[],
    embed: [] as number[],
    bm25: [] as number[],
    search: [] as number[],
  };
  const timed = async <T>(stage: keyof typeof times, work: () => T | Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    times[stage].push((performance.now() - start) * 1000);
    return result;
  };
  for (const query of queries) {
    const tokens = await timed('tokenise', () => tokenise(query.query));
    const [embedding] = await timed('embed', () => embedder.embedQueries([query.query]));
    const nothing = new Uint32Array(0);
    const results = {
      bm25: await timed('bm25', () => index.search({ embedding: null, tokens, limit: 50 })),
      dense: index.search({ embedding, tokens: nothing, limit: 50 }),
      both: await timed('search', () => index.search({ embedding, tokens, limit: 50 })),
    };
    for (const method of METHODS) {
      const found = Array.from(results[method].candidates.slots, (slot) => tools[slot].id);
      for (const [at, k] of [1, 5, 10].entries()) sums[method][at] += recallAt(k, found, query);
    }
  }
  const mean = (sum: number[]): Recalls => [sum[0], sum[1], sum[2]].map((s) => s / queries.length) as never;
  const recall = { bm25: mean(sums.bm25), dense: mean(sums.dense), both: mean(sums.both) };
  const expected = expectedOf(`${set} ${split}`, embedder);
  const differences = METHODS.flatMap((method) =>
    recall[method].map((value, at) => Math.abs(value - (expected[method]?.[at] ?? value))),
  );
  return {
    set: `${set} ${split}`,
    tools: tools.length,
    queries: queries.length,
    recall,
    worstDifference: Object.keys(expected).length === 0 ? null : Math.max(...differences),
    expected,
    latency: {
      tokenise: median(times.tokenise),
      embed: median(times.embed),
      bm25: median(times.bm25),
      search: median(times.search),
    },
  };
}

/** What is known about this model; a reference of the sum exists for the model of the repository only. */
function expectedOf(name: string, { dimensions }: Embedder): Partial<Expected> {
  const model = basename(options.model);
  if (dimensions === 256 && model === 'tool-static-256') return EXPECTED[name];
  const { bm25 } = EXPECTED[name];
  return model === 'minilm-int8' ? { bm25, dense: EXPECTED_MINILM[name] } : { bm25 };
}

function print(rows: readonly Row[]): void {
  const format = (values: Recalls, expected: Recalls | undefined): string =>
    values
      .map((value, at) => {
        const off = expected !== undefined && Math.abs(value - expected[at]) > TOLERANCE;
        return `${value.toFixed(3)}${off ? `!${expected[at].toFixed(3)}` : ''}`;
      })
      .join(' ');
  console.log(
    'Recall@1 @5 @10; "!" = off by more than 0.01 from the expected value that follows; medians in µs\n',
  );
  console.log(
    '| set | tools | queries | BM25 | dense | both | worst difference | tokenise | embed | BM25 | search |',
  );
  console.log('|---|--:|--:|---|---|---|--:|--:|--:|--:|--:|');
  for (const { set, tools, queries, recall, worstDifference, expected, latency } of rows) {
    const cells = METHODS.map((method) => format(recall[method], expected[method]));
    const { tokenise: words, embed, bm25, search } = latency;
    const times = [words, embed, bm25, search].map((time) => time.toFixed(0));
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
  const kernels = await loadKernels(console.warn);
  const embedder = await OnnxEmbedder.open({ folder: options.model });
  const wanted = options.sets.split(',').filter(Boolean);
  const rows: Row[] = [];
  for (const name of Object.keys(EXPECTED)) {
    const [set, split] = name.split(' ');
    if (!present.includes(set) || (wanted.length > 0 && !wanted.includes(set))) continue;
    rows.push(await measure(set, split, embedder, kernels));
  }
  await embedder.close();
  print(rows);
  const folder = join(packageRoot(), 'bench', 'results');
  await mkdir(folder, { recursive: true });
  const model = basename(options.model);
  const isDefault = model === 'tool-static-256';
  const command = `npx tsx bench/retrieval.ts${isDefault ? '' : ` --model ${model}`}`;
  const report = { ...measuredOn(command), load: loadavg(), model, rows };
  await writeFile(
    join(folder, `retrieval${isDefault ? '' : `-${model}`}.json`),
    `${JSON.stringify(report, null, 2)}\n`,
  );
}

await main();
