/**
 * Should the `examples` of a tool be searched? Recall@1/5/10 of retrieval without them, with them among the words of the tool, and with
 * them in the text that is embedded, too. Examples are queries of a set's first part that its tool is right for, at most n per tool; the
 * queries of its second part are asked. The choice was made on the parts `select`; `check` was looked at afterwards.
 *
 *   npx tsx bench/examples.ts [--data ../shared/data] [--model models/tool-static-256]
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { ToolIndex } from '../src/retrieval/tool-index.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { type LabelledQuery, recallAt, ToolSet } from './queries/tool-set.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
  },
});

/** Where examples come from, and what is asked; `odd` and `even` are halves of one split. */
const STREAMS = [
  { set: 'toollens', use: 'select', examples: ['train', 'odd'], asked: ['train', 'even'] },
  { set: 'seal-tools', use: 'select', examples: ['test_in_domain', 'all'], asked: ['dev', 'all'] },
  { set: 'ultratool', use: 'select', examples: ['test', 'odd'], asked: ['test', 'even'] },
  { set: 'toollens', use: 'check', examples: ['train', 'odd'], asked: ['test', 'all'] },
  { set: 'toollinkos', use: 'check', examples: ['test', 'odd'], asked: ['test', 'even'] },
  { set: 'mcp-zero', use: 'check', examples: ['train', 'all'], asked: ['test', 'all'] },
] as const;
const MOST_ASKED = 1000;
/** What is done with the examples of a tool. */
const WAYS = ['none', 'words', 'words and vector', 'words and mean vector'] as const;
type Way = (typeof WAYS)[number];

type Tool = ToolDefinition & { readonly examples: readonly string[] };

async function main(): Promise<void> {
  if (!existsSync(options.data)) {
    console.log(`No data sets in ${options.data} (option --data): nothing to measure.`);
    return;
  }
  const embedder = await openModelFolder(options.model);
  console.log('Recall@1 @5 @10. "half": every other tool has examples; the queries are those of all tools\n');
  console.log(`| use | set | examples | tools with | queries | ${WAYS.join(' | ')} |`);
  console.log(`|---|---|--:|---|--:|${WAYS.map(() => '---').join('|')}|`);
  for (const { set, use, examples, asked } of STREAMS) {
    const tools = await ToolSet.open(options.data, set, embedder);
    if (tools === null) continue;
    const given = part(tools, examples[0], examples[1]);
    const wanted = part(tools, asked[0], asked[1]);
    const step = Math.max(1, wanted.length / MOST_ASKED);
    const queries = Array.from(
      { length: Math.min(MOST_ASKED, wanted.length) },
      (_, i) => wanted[Math.floor(i * step)],
    );
    for (const most of [1, 3, 10]) {
      for (const share of [1, 2]) {
        const withExamples = tools.definitions.map((tool, slot): Tool => {
          const own =
            slot % share === 0 ? given.filter(({ relevant }) => relevant.includes(tools.ids[slot])) : [];
          return { ...tool, examples: own.slice(0, most).map(({ query }) => query) };
        });
        const cells: string[] = [];
        for (const way of WAYS) cells.push(await recall(embedder, tools.ids, withExamples, queries, way));
        const having = withExamples.filter((tool) => tool.examples.length > 0).length;
        console.log(
          `| ${[use, `${set} ${asked.join(' ')}`, most, `${having} of ${tools.ids.length}`, queries.length, ...cells].join(' | ')} |`,
        );
      }
    }
    tools.free();
  }
  await embedder.close();
}

function part(tools: ToolSet, split: string, which: 'odd' | 'even' | 'all'): LabelledQuery[] {
  const all = tools.queries(split, Number.POSITIVE_INFINITY);
  return which === 'all' ? all : all.filter((_, at) => at % 2 === (which === 'odd' ? 1 : 0));
}

async function recall(
  embedder: Embedder,
  ids: readonly string[],
  tools: readonly Tool[],
  queries: readonly LabelledQuery[],
  way: Way,
): Promise<string> {
  const kernels = await loadKernels();
  const vectors = new ToolVectors(kernels, embedder.dimensions);
  const index = new ToolIndex(kernels);
  index.reset(vectors);
  const texts = tools.map((tool) => {
    const text = denseText({ ...tool, examples: [] });
    return way === 'words and vector' ? [text, ...tool.examples].join(' ') : text;
  });
  const embeddings = await embedder.embedDocuments(texts);
  for (const [slot, tool] of tools.entries()) {
    let vector = embeddings[slot];
    if (way === 'words and mean vector' && tool.examples.length > 0) {
      vector = meanOf([vector, meanOf(await embedder.embedQueries(tool.examples))]);
    }
    vectors.put(slot, vector);
    const { examples, ...rest } = tool;
    index.put({ slot, tool: way === 'none' ? rest : { ...rest, tags: examples } });
  }
  const sums = [0, 0, 0];
  for (const query of queries) {
    const [embedding] = await embedder.embedQueries([query.query]);
    const { slots } = index.search({ embedding, tokens: tokenise(query.query), limit: 10 }).candidates;
    const found = Array.from(slots, (slot) => ids[slot]);
    for (const [at, k] of [1, 5, 10].entries()) sums[at] += recallAt(k, found, query);
  }
  index.free();
  vectors.free();
  return sums.map((sum) => (sum / queries.length).toFixed(3)).join(' ');
}

/** The mean of unit vectors, of length 1 again. */
function meanOf(some: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(some[0].length);
  for (const one of some) for (const [at, value] of one.entries()) sum[at] += value;
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => value / length);
}

await main();
