/**
 * Which tools does the service find for implicit queries ("order the usual") with the items that it chooses, and what becomes of queries that
 * say all that they want? Recall by words and vectors, fused as in a route: without context, with the items, with the tools that
 * these were used with, and both. The weights are chosen on the validation part.
 *
 *   npx tsx bench/context-tools.ts [--seed 1]
 *
 * Users, items and implicit queries are those of bench/context.ts, and the ranker is the one that ships. Explicit queries are those of
 * context/explicit.txt, asked by the same users at the same moments: halves of them are for choosing and for the test.
 */
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import { BY_MODEL, servedItems } from '../src/context/item-probability.ts';
import { shippedContextRanker } from '../src/context/shipped-ranker.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { ToolIndex } from '../src/retrieval/tool-index.ts';
import { extended, usedTools } from '../src/routing/query-context.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { readExplicit, readTools } from './context/facets.ts';
import { asking, type Judged, judge } from './context/judged.ts';
import { type Persona, simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({ options: { seed: { type: 'string', default: '1' } } });

const VALIDATION_PERSONAS = 65;
const ITEMS = 3;
const KS = [1, 3, 5];
/** Weights to choose from: of the items, and of what they were used with. */
const ITEMS_WEIGHTS = [0.5, 2];
const LEAST = [0.5, 0.6];
const USES_WEIGHTS = [0, 1, 1.2, 1.5, 2];
/** What explicit queries may lose, in points. */
const MOST_LOST = 0.6;
type Weights = { readonly items: number; readonly least: number; readonly uses: number };

interface Asked {
  readonly embedding: Float32Array;
  readonly tokens: Uint32Array;
  /** Tools that fit, the best first. */
  readonly right: readonly string[];
  readonly chosen: readonly {
    readonly id: string;
    readonly text: string;
    readonly score: number;
    readonly vector: Float32Array | null;
  }[];
  readonly judged: Judged;
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const ranker = await shippedContextRanker();
  const world = simulatedWorld(Number(options.seed));
  const tools = readTools();
  const kernels = await loadKernels();
  const vectors = new ToolVectors(kernels, embedder.dimensions);
  const index = new ToolIndex(kernels);
  index.reset(vectors);
  const texts = tools.map(({ name, description }) => `${name} ${description}`);
  const toolVectors = await embedder.embedDocuments(texts);
  for (const [slot, vector] of toolVectors.entries()) {
    vectors.put(slot, vector);
    const { name, description } = tools[slot];
    index.put({ slot, tool: { name, description, inputSchema: { type: 'object', properties: {} } } });
  }
  const slots = new Map(tools.map(({ name }, slot) => [name, slot]));
  const askedOf = (
    judged: Judged,
    { text, embedding }: { readonly text: string; readonly embedding: Float32Array },
    right: readonly string[],
    { candidates, moment }: Pick<Judged, 'candidates' | 'moment'> = judged,
  ): Asked => ({
    ...{ embedding, tokens: tokenise(text), right, judged },
    chosen: servedItems(ranker.rank(candidates, moment), BY_MODEL, ITEMS).map(({ item, probability }) => ({
      id: judged.candidates[item].id,
      text: judged.texts[item],
      score: probability,
      vector: judged.candidates[item].vector,
    })),
  });
  const partOf = async (personas: readonly Persona[], half: 0 | 1) => {
    const judged = await judge(personas, embedder);
    const explicit = readExplicit(half).filter(({ tool }) => tool !== null);
    const said = await embedder.embedQueries(explicit.map(({ text }) => text));
    return {
      implicit: judged.map((one) =>
        askedOf(one, { text: one.query.text, embedding: one.embedding }, one.query.tools),
      ),
      explicit: judged.map((one, at) => {
        const which = (at * 7) % explicit.length;
        const { tool, text } = explicit[which];
        const query = { text, embedding: said[which] };
        return askedOf(one, query, [tool!], asking(one, query, toolVectors));
      }),
    };
  };

  const found = (one: Asked, weights: Weights | null): string[] => {
    const { embedding, tokens, chosen, judged } = one;
    const isHelped = weights !== null && chosen.length > 0;
    const signals = { of: (id: string) => judged.candidates.find((item) => item.id === id)!.usage };
    const context = isHelped && {
      parts: [extended({ embedding, tokens }, chosen, weights)].filter((part) => part !== null),
      used: usedTools({ signals }, chosen, (name) => slots.get(name), weights),
    };
    const { candidates } = index.search({ embedding, tokens, limit: 50, ...context });
    return Array.from(candidates.slots.subarray(0, Math.max(...KS)), (slot) => tools[slot].name);
  };
  /** Queries whose best tool is among the first k, and fitting tools among the first k, in percent. */
  const recall = (all: readonly Asked[], weights: Weights | null): { best: number[]; fitting: number[] } => {
    const sums = { best: KS.map(() => 0), fitting: KS.map(() => 0) };
    for (const one of all) {
      const names = found(one, weights);
      for (const [at, k] of KS.entries()) {
        const first = names.slice(0, k);
        sums.best[at] += (first.includes(one.right[0]) ? 100 : 0) / all.length;
        const hits = one.right.filter((name) => first.includes(name)).length;
        sums.fitting[at] += (100 * hits) / Math.min(k, one.right.length) / all.length;
      }
    }
    return sums;
  };

  const validation = await partOf(world.training.slice(-VALIDATION_PERSONAS), 0);
  const all = ITEMS_WEIGHTS.flatMap((items) =>
    LEAST.flatMap((least) => USES_WEIGHTS.map((uses) => ({ items, least, uses }))),
  );
  const plainExplicit = recall(validation.explicit, null);
  let chosen = { weights: all[0], value: Number.NEGATIVE_INFINITY };
  console.log('validation: items uses | implicit best | explicit best');
  for (const weights of all) {
    const [implicit, said] = [recall(validation.implicit, weights), recall(validation.explicit, weights)];
    const cells = [implicit.best, said.best].map((one) => one.map((value) => value.toFixed(1)).join(' '));
    console.log(`${weights.items} ${weights.least} ${weights.uses} | ${cells.join(' | ')}`);
    // What is gained for implicit queries must hardly cost explicit ones anything.
    const isWorse = said.best.some((value, at) => value < plainExplicit.best[at] - MOST_LOST);
    const value = implicit.best[0] + implicit.best[2] - (isWorse ? 1000 : 0);
    if (value > chosen.value) chosen = { weights, value };
  }
  console.log(`explicit without context: ${plainExplicit.best.map((value) => value.toFixed(1)).join(' ')}`);

  const test = await partOf(world.test, 1);
  await embedder.close();
  const { weights } = chosen;
  const ways: Record<string, Weights | null> = {
    'no context': null,
    'items alone, whatever their probability': { ...weights, least: 0, uses: 0 },
    'items alone': { ...weights, uses: 0 },
    'tools that they were used with': { ...weights, least: 2 },
    'items and tools that they were used with': weights,
  };
  console.log(
    `\nchosen: items ${weights.items} from ${weights.least}, uses ${weights.uses}; test: ${test.implicit.length} queries of each kind`,
  );
  console.log('| | implicit: best @1 @3 @5 | fitting | explicit: best @1 @3 @5 |\n|---|---|---|---|');
  const results: Record<string, unknown> = { weights };
  for (const [name, way] of Object.entries(ways)) {
    const [implicit, said] = [recall(test.implicit, way), recall(test.explicit, way)];
    results[name] = { implicit, explicit: said };
    const cells = [implicit.best, implicit.fitting, said.best].map((one) =>
      one.map((value) => value.toFixed(1)).join(' '),
    );
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  const items = (part: readonly Asked[]): number =>
    part.reduce((sum, one) => sum + one.chosen.length, 0) / part.length;
  const served = { implicit: items(test.implicit), explicit: items(test.explicit) };
  console.log(
    `items: ${served.implicit.toFixed(2)} per implicit query, ${served.explicit.toFixed(2)} per explicit one`,
  );
  const about = measuredOn(`npx tsx bench/context-tools.ts --seed ${options.seed}`);
  const to = join(packageRoot(), 'bench', 'results', 'context-tools.json');
  writeFileSync(to, `${JSON.stringify({ ...about, load: loadavg()[0], served, results }, null, 1)}\n`);
}

await main();
