/**
 * How much of a long description should be embedded? Retrieval with the whole, its beginning and its first paragraph: on the operations of GitHub's
 * OpenAPI document, whose descriptions go on about permissions, media types and limits, and on the public sets where that changes any text at
 * all. The choice was made on `tuned-on` and on ToolLens' training part; the rest was looked at afterwards. BM25 reads whole descriptions in every row.
 *
 *   npm install --prefix /tmp/github @octokit/openapi@23.0.2
 *   npx tsx bench/long-descriptions.ts --folder /tmp/github/node_modules/@octokit/openapi/generated [--model models/tool-static-256]
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import { toolFaults } from '../src/http/wire/tool-faults.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { denseText, rerankText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { ToolIndex } from '../src/retrieval/tool-index.ts';
import { readTools } from '../src/sources/formats/read-tools.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { type LabelledQuery, recallAt, ToolSet } from './queries/tool-set.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    folder: { type: 'string' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
  },
});

const DOCUMENT = 'api.github.com.json';
const MOST_ASKED = 2000;
const NO_TOKENS = new Uint32Array(0);

const WAYS: Readonly<Record<string, (tool: ToolDefinition) => string>> = {
  whole: rerankText,
  '300 characters': beginning(300),
  '100 characters': beginning(100),
  'first paragraph': denseText,
};

function beginning(length: number): (tool: ToolDefinition) => string {
  return (tool) => rerankText({ ...tool, description: tool.description.slice(0, length) });
}

interface Tools {
  readonly name: string;
  readonly ids: readonly string[];
  readonly definitions: readonly ToolDefinition[];
  readonly splits: Readonly<Record<string, readonly LabelledQuery[]>>;
}

function github(folder: string): Tools {
  const { tools } = readTools(readFileSync(join(folder, DOCUMENT), 'utf8'), toolFaults);
  const queriesOf = (part: string): LabelledQuery[] =>
    readFileSync(join(packageRoot(), 'bench', 'queries', `github.${part}.jsonl`), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  const splits = { 'tuned-on': queriesOf('tuned-on'), 'kept-aside': queriesOf('kept-aside') };
  return { name: 'github', ids: tools.map(({ name }) => name), definitions: tools, splits };
}

async function publicSet(set: string, embedder: Embedder): Promise<Tools | null> {
  const tools = await ToolSet.open(options.data, set, embedder);
  if (tools === null) return null;
  const { ids, definitions } = tools;
  const names = readdirSync(join(options.data, set)).flatMap(
    (file) => /^queries\.(.*?)\.jsonl/.exec(file)?.[1] ?? [],
  );
  const splits = Object.fromEntries(names.map((split) => [split, tools.queries(split, MOST_ASKED)]));
  tools.free();
  return { name: set, ids, definitions, splits };
}

async function measure({ name, ids, definitions, splits }: Tools, embedder: Embedder): Promise<void> {
  const kernels = await loadKernels();
  for (const [way, textOf] of Object.entries(WAYS)) {
    const texts = definitions.map(textOf);
    const changed = texts.filter((text, slot) => text !== rerankText(definitions[slot])).length;
    const vectors = new ToolVectors(kernels, embedder.dimensions);
    const index = new ToolIndex(kernels);
    index.reset(vectors);
    for (const [slot, vector] of (await embedder.embedDocuments(texts)).entries()) {
      vectors.put(slot, vector);
      index.put({ slot, tool: definitions[slot] });
    }
    for (const [split, queries] of Object.entries(splits)) {
      const sums = { vectors: [0, 0, 0], both: [0, 0, 0] };
      for (const query of queries) {
        const [embedding] = await embedder.embedQueries([query.query]);
        for (const [method, tokens] of [
          ['vectors', NO_TOKENS],
          ['both', tokenise(query.query)],
        ] as const) {
          const { slots } = index.search({ embedding, tokens, limit: 50 }).candidates;
          const found = Array.from(slots, (slot) => ids[slot]);
          const first = found.findIndex((_, at) => recallAt(at + 1, found, query) > 0);
          const values = [
            recallAt(1, found, query),
            recallAt(5, found, query),
            first < 0 ? 0 : 1 / (first + 1),
          ];
          for (const [at, value] of values.entries()) sums[method][at] += value / queries.length;
        }
      }
      const cells = [sums.vectors, sums.both].map((values) =>
        values.map((value) => value.toFixed(3)).join(' '),
      );
      console.log(
        `| ${[`${name} ${split}`, queries.length, way, `${changed} of ${ids.length}`, ...cells].join(' | ')} |`,
      );
    }
    index.free();
    vectors.free();
  }
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  console.log('Recall@1 @5 and mean reciprocal rank\n');
  console.log('| queries | | embedded | other texts than the whole | vectors | words and vectors |');
  console.log('|---|--:|---|--:|---|---|');
  if (options.folder === undefined) console.log(`No --folder with ${DOCUMENT}: public sets only.`);
  else await measure(github(options.folder), embedder);
  const unchanged: string[] = [];
  for (const set of existsSync(options.data) ? readdirSync(options.data) : []) {
    if (!existsSync(join(options.data, set, 'README.md'))) continue;
    const tools = await publicSet(set, embedder);
    if (tools === null) continue;
    if (tools.definitions.every((tool) => denseText(tool) === rerankText(tool))) unchanged.push(set);
    else await measure(tools, embedder);
  }
  console.log(`\nThe first paragraph is the whole description in all tools of: ${unchanged.join(', ')}.`);
  await embedder.close();
}

await main();
