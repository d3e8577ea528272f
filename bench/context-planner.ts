/**
 * What does a user's context do for the tools that are found and for the plan that is made of them? Recall of tools with and without
 * context, beside Figure 2 of the paper (context tuning), and plans of a scripted planner beside its Table 3, also with the right tools forced.
 *
 *   npx tsx bench/context-planner.ts [--seed 1]
 *
 * Users, tools and queries are those of bench/context.ts, and the ranker is the one that ships, which never saw the personas of the test part.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ContextRanker } from '../bandit/ranking/context-ranker.ts';
import { product } from '../bandit/ranking/semantic-map.ts';
import { packageRoot } from '../config/package-root.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { readTools } from './context/facets.ts';
import { type Judged, judge } from './context/judged.ts';
import { judgePlan, ScriptedPlanner } from './context/planner.ts';
import { type Persona, simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({ options: { seed: { type: 'string', default: '1' } } });

const VALIDATION_PERSONAS = 65;
const KS = [1, 3, 5, 10];
/** Tools that the planner is shown, and items, as the service serves them by default. */
const [SHOWN, ITEMS] = [5, 3];
/** What the items count in the query for tools, the query itself counting 1: as in the service, and to choose from on the validation part. */
const SERVED_WEIGHT = 0.5;
const WEIGHTS = [0.2, 0.5, 1, 2, 3, 5];
/** What the share of their uses that went to a tool counts beside its product; chosen likewise. */
const HABITS = [0.1, 0.2, 0.5, 1];

/** A query with the texts and vectors of its items: of the ranker, or those that it needs. */
interface Asked {
  readonly judged: Judged;
  readonly ranked: readonly number[];
  readonly needed: readonly number[];
  readonly texts: readonly string[];
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const file = join(packageRoot(), 'models', 'context-ranker', 'context-ranker.bin');
  const ranker = ContextRanker.decode(readFileSync(file));
  const world = simulatedWorld(Number(options.seed));
  const tools = readTools();
  const toolVectors = await embedder.embedDocuments(
    tools.map(({ name, description }) => `${name} ${description}`),
  );
  const asked = async (personas: readonly Persona[]): Promise<Asked[]> => {
    const texts = personas.flatMap(({ items, queries }) => queries.map(() => items.map(({ text }) => text)));
    return (await judge(personas, embedder)).map((judged, at) => ({
      judged,
      texts: texts[at],
      ranked: ranker
        .rank(judged.candidates, judged.moment)
        .slice(0, ITEMS)
        .map(({ item }) => item),
      needed: [...judged.relevant.keys()].filter((item) => judged.relevant[item]),
    }));
  };
  const [validation, test] = [
    await asked(world.training.slice(-VALIDATION_PERSONAS)),
    await asked(world.test),
  ];
  await embedder.close();

  const search = ({ judged }: Asked, items: readonly number[], weight: number, habit = 0): string[] => {
    const query = judged.embedding.slice();
    const used = new Map<string, number>();
    for (const item of items) {
      for (let i = 0; i < query.length; i++) query[i] += (weight / items.length) * judged.vectors[item][i];
      const { usage } = judged.candidates[item];
      for (const [tool, uses] of usage.tools) {
        used.set(tool, (used.get(tool) ?? 0) + uses / usage.uses / items.length);
      }
    }
    const scores = toolVectors.map(
      (vector, at) => product(query, vector) / (1 + weight) + habit * (used.get(tools[at].name) ?? 0),
    );
    return [...tools.keys()].sort((a, b) => scores[b] - scores[a]).map((at) => tools[at].name);
  };
  type Search = (one: Asked) => readonly string[];
  /** Share of the tools that fit, and of the queries whose best tool is found, in percent. */
  const recall = (all: readonly Asked[], found: Search) =>
    KS.map((k) => {
      let [fitting, best] = [0, 0];
      for (const one of all) {
        const { tools: right } = one.judged.query;
        const first = found(one).slice(0, k);
        fitting += right.filter((tool) => first.includes(tool)).length / Math.min(k, right.length);
        best += first.includes(right[0]) ? 1 : 0;
      }
      return { k, fitting: (100 * fitting) / all.length, best: (100 * best) / all.length };
    });

  const at5 = (weight: number, habit: number): number =>
    recall(validation, (one) => search(one, one.ranked, weight, habit))[2].fitting;
  const weight = WEIGHTS.reduce((best, next) => (at5(next, 0) > at5(best, 0) ? next : best));
  const habit = HABITS.reduce((best, next) =>
    at5(SERVED_WEIGHT, next) > at5(SERVED_WEIGHT, best) ? next : best,
  );
  const searches: Record<string, Search> = {
    'query alone': (one) => search(one, [], 0),
    'with three items, as the service weighs them': (one) => search(one, one.ranked, SERVED_WEIGHT),
    'with three items': (one) => search(one, one.ranked, weight),
    'with the items that it needs': (one) => search(one, one.needed, weight),
    'with three items and the tools that they were used with': (one) =>
      search(one, one.ranked, SERVED_WEIGHT, habit),
  };
  const parts = `the items count ${weight}, their tools ${habit} (chosen on ${validation.length} others)`;
  console.log(`${test.length} queries; ${parts}\n`);
  console.log('| tools found by | fitting tools @1 @3 @5 @10 | best tool @1 @3 @5 @10 |\n|---|---|---|');
  const results: Record<string, unknown> = { weight, habit };
  for (const [name, found] of Object.entries(searches)) {
    const found5 = recall(test, found);
    results[name] = found5;
    const cells = (['fitting', 'best'] as const).map((of) =>
      found5.map((one) => one[of].toFixed(1)).join(' '),
    );
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }

  const planner = new ScriptedPlanner(world.training.flatMap(({ queries }) => queries));
  const right: Search = ({ judged }) => judged.query.tools;
  const settings: Record<string, { tools: Search; items: (one: Asked) => readonly number[]; paper: string }> =
    {
      'tools of the query alone, no context': {
        tools: searches['query alone'],
        items: () => [],
        paper: '76.39 58.12 1.76',
      },
      'tools of the query alone, context in the plan': {
        tools: searches['query alone'],
        items: (one) => one.ranked,
        paper: '',
      },
      'tools found with context, no context in the plan': {
        tools: searches['with three items'],
        items: () => [],
        paper: '',
      },
      'tools found with context, context in the plan': {
        tools: searches['with three items'],
        items: (one) => one.ranked,
        paper: '85.24 67.33 0.93',
      },
      'tools that the items were used with, context in the plan': {
        tools: searches['with three items and the tools that they were used with'],
        items: (one) => one.ranked,
        paper: '',
      },
      'right tools, no context': { tools: right, items: () => [], paper: '91.47 72.65 0.85' },
      'right tools, context': { tools: right, items: (one) => one.ranked, paper: '91.62 72.84 0.53' },
      'right tools, the items that it needs': { tools: right, items: (one) => one.needed, paper: '' },
    };
  console.log(
    '\n| plan | AST accuracy | exact match | wrong or missing arguments | paper |\n|---|---|---|---|---|',
  );
  for (const [name, { tools: found, items, paper }] of Object.entries(settings)) {
    const counts = [0, 0, 0];
    for (const [key, one] of test.entries()) {
      const { query } = one.judged;
      const given = {
        query: query.text,
        tools: found(one).slice(0, SHOWN),
        context: items(one).map((item) => one.texts[item]),
      };
      const call = planner.plan(given, query.tools, Object.keys(query.args), key);
      const { isTree, isExact, isInvented } = judgePlan(call, query);
      for (const [at, is] of [isTree, isExact, isInvented].entries())
        counts[at] += is ? 100 / test.length : 0;
    }
    results[name] = counts;
    console.log(`| ${name} | ${counts.map((count) => count.toFixed(1)).join(' | ')} | ${paper} |`);
  }
  const about = measuredOn(`npx tsx bench/context-planner.ts --seed ${options.seed}`);
  const to = join(packageRoot(), 'bench', 'results', 'context-planner.json');
  writeFileSync(to, `${JSON.stringify({ ...about, results }, null, 1)}\n`);
}

await main();
