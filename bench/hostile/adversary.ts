/**
 * How far can somebody push a tool that nobody was shown? On training data (toollens), after an honest start, an
 * adversary reports successes of a tool that fits nowhere for one query; then other people ask for the same scene, and for
 * anything else.
 *
 *   npx tsx bench/hostile/adversary.ts [--data ../shared/data] [--decisions 1500] [--targets 20]
 *
 * Answers the share of those queries for which the tool is first, and in the slate of five, as it is served: exploring. In
 * the attack with chosen words the query holds 300 made-up words that meet in one bucket of the taught vectors with a word
 * of the scene. What the same limits cost an
 * honest agent is measured by `bench/learning.ts --rows "validation, tools found,validation, everything"`.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomFor } from '../../bandit/random.ts';
import { bucketOf } from '../../bandit/taught/taught-query.ts';
import { packageRoot } from '../../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import { openModelFolder } from '../../src/models/open-embedder.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { CAREFUL_AGENT, conductOf } from '../../src/simulation/agent.ts';
import { shuffled } from '../../src/simulation/catalog-changes.ts';
import type { LabelledQuery } from '../../src/simulation/evaluate.ts';
import { SimulatedCatalog } from '../../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { LabelledSet } from '../labelled-set.ts';
import { measuredOn } from '../measured-on.ts';

interface Attack {
  readonly name: string;
  readonly reports: number;
  readonly weight: number;
  /** Who reports the i-th time. */
  readonly unit: (i: number) => string | undefined;
  readonly chosenWords?: boolean;
}

const ATTACKS: readonly Attack[] = [
  { name: 'none', reports: 0, weight: 1, unit: () => undefined },
  { name: '2 reports of weight 10, no unit named', reports: 2, weight: 10, unit: () => undefined },
  { name: '2 reports of weight 10, one unit', reports: 2, weight: 10, unit: () => 'mallory' },
  { name: '100 reports of weight 10, one unit', reports: 100, weight: 10, unit: () => 'mallory' },
  { name: '10 reports of weight 10, ten units', reports: 10, weight: 10, unit: (i) => `mallory-${i}` },
  {
    ...{ name: '2 reports of weight 10, chosen words', reports: 2, weight: 10, unit: () => 'mallory' },
    chosenWords: true,
  },
];
const SLATE = 5;
const BUCKETS = 1024;
/** Queries of all kinds that are asked after each attack. */
const ANY_QUERIES = 20;

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    decisions: { type: 'string', default: '1500' },
    targets: { type: 'string', default: '20' },
  },
});

function sceneOf({ relevant }: LabelledQuery): string {
  return [...relevant].sort().join(' ');
}

async function main(): Promise<void> {
  if (!existsSync(values.data)) {
    console.log(`No data sets in ${values.data}: nothing to measure. Give their folder with --data.`);
    return;
  }
  const kernels = await loadKernels();
  const embedder = await openModelFolder(join(packageRoot(), 'models', 'tool-static-256'));
  const set = new LabelledSet(values.data, 'toollens', embedder);
  const tools = await set.tools();
  const train = shuffled(await set.queries('train'), 'adversary');
  await embedder.close();
  const honest = train.slice(0, Number(values.decisions));
  const others = train.slice(Number(values.decisions));
  const byScene = new Map<string, LabelledQuery[]>();
  for (const query of others) byScene.set(sceneOf(query), [...(byScene.get(sceneOf(query)) ?? []), query]);
  const scenes = [...byScene.values()]
    .filter((queries) => queries.length >= 4)
    .slice(0, Number(values.targets));

  const rows = [];
  for (const attack of ATTACKS) {
    const catalog = new SimulatedCatalog(
      kernels,
      tools[0].embedding!.length,
      DEFAULT_CATALOG_SETTINGS.policy,
    );
    catalog.put(tools);
    for (const [step, query] of honest.entries()) {
      const decision = catalog.decide(`simulation.honest${step}`, query, SLATE, true, {
        unitId: `user-${step}`,
      });
      const shown = decision.slate.map((index) => decision.candidates[index]);
      const random = randomFor(`adversary/agent/${step}`);
      catalog.report(decision, conductOf(shown, new Set(query.relevant), CAREFUL_AGENT, random).calls);
    }
    let first = 0;
    let inSlate = 0;
    let asked = 0;
    let anyInSlate = 0;
    for (const [at, [target, ...victims]] of scenes.entries()) {
      const pushed = strangerTo(scenes[at], tools[(at * 7919) % tools.length].tool.name, tools);
      for (let i = 0; i < attack.reports; i++) {
        const id = `simulation.attack${at}x${i}`;
        const asked = attack.chosenWords === true ? withChosenWords(target) : target;
        const decision = catalog.decide(id, asked, SLATE, true, { unitId: attack.unit(i) });
        catalog.report(decision, [{ tool: pushed, success: true }], attack.weight);
      }
      for (const [i, victim] of victims.entries()) {
        const { slate, candidates } = catalog.decide(`simulation.victim${at}x${i}`, victim, SLATE, true);
        const place = slate.findIndex((index) => candidates[index] === pushed);
        asked++;
        if (place === 0) first++;
        if (place >= 0) inSlate++;
      }
      for (let i = 0; i < ANY_QUERIES; i++) {
        const any = others[(at * 131 + i * 977) % others.length];
        const { slate, candidates } = catalog.decide(`simulation.any${at}x${i}`, any, SLATE, true);
        if (slate.some((index) => candidates[index] === pushed)) anyInSlate++;
      }
    }
    catalog.free();
    const row = {
      ...{ attack: attack.name, victims: asked, first: first / asked, inSlate: inSlate / asked },
      anyQueryInSlate: anyInSlate / (scenes.length * ANY_QUERIES),
    };
    rows.push(row);
    console.log(
      `${row.attack.padEnd(40)} first ${row.first.toFixed(3)}   in the slate ${row.inSlate.toFixed(3)}` +
        `   of any query ${row.anyQueryInSlate.toFixed(3)}`,
    );
  }
  mkdirSync('bench/results', { recursive: true });
  writeFileSync(
    'bench/results/adversary.json',
    `${JSON.stringify({ ...measuredOn(`npx tsx bench/hostile/adversary.ts`), rows }, null, 2)}\n`,
  );
}

/** The query with 300 made-up words in place of its own, all in the bucket of one of its words and with the same sign. */
function withChosenWords(query: LabelledQuery): LabelledQuery {
  const { bucket, sign } = bucketOf(query.tokens[query.tokens.length - 1], BUCKETS);
  const words: string[] = [];
  for (let i = 0; words.length < 300; i++) {
    const word = `zq${i.toString(36)}`;
    const [term] = tokenise(word);
    const other = bucketOf(term, BUCKETS);
    if (other.bucket === bucket && other.sign === sign) words.push(word);
  }
  const text = words.join(' ');
  return { ...query, text, tokens: tokenise(text), parts: [] };
}

/** A tool that fits none of these queries. */
function strangerTo(
  queries: readonly LabelledQuery[],
  wanted: string,
  tools: readonly { tool: { name: string } }[],
) {
  const fitting = new Set(queries.flatMap(({ relevant }) => relevant));
  return fitting.has(wanted) ? tools.find(({ tool }) => !fitting.has(tool.name))!.tool.name : wanted;
}

await main();
