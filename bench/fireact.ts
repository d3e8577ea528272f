/**
 * How does the filter of FiReAct hold up as the catalog grows (the question of Figure 4 of the paper)? Recall@1/5/10
 * and latency of day 0, with 100, 1,000, 10,000 and all 12,274 tools of a catalogue put together from public sets.
 *
 *   npx tsx bench/fireact.ts [--data ../shared/data] [--model <folder>] [--groups 8]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import type { ToolIndex } from '../src/retrieval/tool-index.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import {
  type CatalogueQuery,
  type CatalogueTool,
  indexOf,
  LargeCatalogue,
} from './fireact/large-catalogue.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    groups: { type: 'string', default: '8' },
  },
});

const SIZES = [100, 1_000, 10_000, Number.POSITIVE_INFINITY];
const CUTS = [1, 5, 10] as const;
const METHODS = ['bm25', 'dense', 'both'] as const;

interface Row {
  readonly tools: number;
  readonly queries: number;
  /** By method: at 1, 5, 10. */
  readonly recall: Record<(typeof METHODS)[number], number[]>;
  /** From the text of a query to its shortlist, ms; its embedding included. */
  readonly latency: { readonly p50: number; readonly p99: number };
}

function recallAt(cut: number, found: readonly string[], { relevant, alternatives }: CatalogueQuery): number {
  const top = new Set(found.slice(0, cut));
  const hits = relevant.filter((id) => [id, ...(alternatives[id] ?? [])].some((one) => top.has(one)));
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

  async ask(
    query: CatalogueQuery,
    tools: readonly CatalogueTool[],
    index: ToolIndex,
    embedder: Embedder,
  ): Promise<void> {
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

async function main(): Promise<void> {
  const catalogue = await LargeCatalogue.read(options.data);
  if (catalogue === null) {
    console.log(`No xlam-toolret in ${options.data} (option --data): nothing to measure.`);
    return;
  }
  const load = loadavg();
  const kernels = await loadKernels();
  const embedder = await openModelFolder(options.model);
  const texts = catalogue.tools.map(({ tool }) => denseText(tool));
  const embeddings = await embedder.embedDocuments(texts);
  const embeddingOf = new Map(catalogue.tools.map(({ id }, at) => [id, embeddings[at]]));
  const ask = async (tally: Tally, size: number, queries: readonly CatalogueQuery[]): Promise<void> => {
    const tools = catalogue.catalogOf(size, queries);
    const embedded = tools.map(({ id, tool }) => ({ tool, embedding: embeddingOf.get(id)! }));
    const [index, vectors] = indexOf(embedded, kernels, embedder.dimensions);
    for (const query of queries) await tally.ask(query, tools, index, embedder);
    index.free();
    vectors.free();
  };
  const groups = catalogue.groups(Number(options.groups));
  const rows: Row[] = [];
  for (const size of SIZES) {
    const tally = new Tally();
    for (const group of groups) await ask(tally, size, group);
    rows.push(tally.row());
  }
  // For comparison with others: every query, all tools.
  const every = new Tally();
  await ask(every, Number.POSITIVE_INFINITY, catalogue.queries);
  rows.push(every.row());
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
