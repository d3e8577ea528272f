/**
 * What do the documents of tools bring to retrieval: what has to be so before a call and is so after it, how calls fail, exemplars? And
 * where do queries go that a tool names as negative examples? Asked are the steps of the billing tasks in `bench/itr`, among the 120
 * tools there, and the negative examples themselves. The documents of the 20 billing tools were written from their definitions before
 * anything was measured, by somebody who had seen five of the hundred tasks; none was changed afterwards.
 *
 *   npx tsx bench/tool-documents.ts [--model models/tool-static-256]
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { readTasks, TASK_SETS } from './itr/tasks.ts';
import { readTools } from './itr/tool-box.ts';
import { ToolCatalog } from './merging/tool-catalog.ts';

const { values: options } = parseArgs({
  options: { model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') } },
});

type Documents = Pick<
  ToolDefinition,
  'preconditions' | 'postconditions' | 'failureModes' | 'exemplars' | 'negativeExamples'
>;

/** What is searched of the documents. */
const WAYS: Readonly<Record<string, (documents: Documents) => Partial<ToolDefinition>>> = {
  'no documents': () => ({}),
  'exemplars alone': ({ exemplars }) => ({ exemplars }),
  'conditions and failures alone': ({ preconditions, postconditions, failureModes }) => ({
    ...{ preconditions, postconditions, failureModes },
  }),
  'all of them, as the product does': (documents) => documents,
  'negative examples as well': ({ negativeExamples, ...rest }) => ({ ...rest, examples: negativeExamples }),
};

interface Asked {
  readonly query: string;
  readonly tools: readonly string[];
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  const lines = readFileSync(new URL('tool-documents/billing.jsonl', import.meta.url), 'utf8').trim();
  const documents = new Map(
    lines.split('\n').map((line) => {
      const { name, ...rest } = JSON.parse(line) as Documents & { name: string };
      return [name, rest] as const;
    }),
  );
  const steps = TASK_SETS.flatMap((set) => readTasks(set))
    .flatMap(({ hops }) => hops)
    .filter(({ gold }) => gold.some((name) => documents.has(name)))
    .flatMap(({ said, need, gold }) => [said, need].map((query): Asked => ({ query, tools: gold })));
  const negatives = [...documents].flatMap(([name, { negativeExamples = [] }]) =>
    negativeExamples.map((query): Asked => ({ query, tools: [name] })),
  );
  console.log(
    `${steps.length} queries; ${negatives.length} negative examples: how often their tool is found\n`,
  );
  console.log('| searched | recall@1 | @3 | @5 | negatives: @1 | @3 |');
  console.log('|---|--:|--:|--:|--:|--:|');
  for (const [way, searched] of Object.entries(WAYS)) {
    const tools = readTools().map(({ definition }): ToolDefinition => {
      const own = documents.get(definition.name);
      return own === undefined ? definition : { ...definition, ...searched(own) };
    });
    const found = await found10(embedder, tools, steps);
    const drawn = await found10(embedder, tools, negatives);
    const cells = [
      ...[1, 3, 5].map((k) => share(steps, found, k)),
      ...[1, 3].map((k) => share(negatives, drawn, k)),
    ];
    console.log(`| ${way} | ${cells.join(' | ')} |`);
  }
  await embedder.close();
}

/** Names of the first ten tools, for each query. */
async function found10(
  embedder: Embedder,
  tools: readonly ToolDefinition[],
  asked: readonly Asked[],
): Promise<readonly (readonly string[])[]> {
  const kernels = await loadKernels();
  const catalog = await ToolCatalog.of(tools, kernels, embedder);
  const queries = await embedder.embedQueries(asked.map(({ query }) => query));
  const found = asked.map(({ query }, at) => {
    const search = { embedding: queries[at], tokens: tokenise(query), limit: 10 };
    return Array.from(catalog.index.search(search).candidates.slots, (slot) => tools[slot].name);
  });
  catalog.free();
  return found;
}

function share(asked: readonly Asked[], found: readonly (readonly string[])[], k: number): string {
  const hits = asked.filter(({ tools }, at) => found[at].slice(0, k).some((name) => tools.includes(name)));
  return (hits.length / asked.length).toFixed(3);
}

await main();
