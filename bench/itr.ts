/**
 * The evaluation of Instruction-Tool Retrieval (Franko), in the shape of its sections 4 and 5, through the service itself: what
 * does it save to serve instructions and tools by need, and what does it cost in success? The paper's figures stand beside.
 *
 *   npx tsx bench/itr.ts [--seeds 3] [--data ../shared/data] [--part all] [--reranker <folder of a cross-encoder>]
 *
 * 120 tools, a system prompt of some 30 pages and 100 tasks with validators were written for it (bench/itr/). The agent is that of
 * equations 5 and 6. Every third task is there to choose settings on and to learn from; figures are of the others.
 * Parts: choose, methods, misses, ablations, sizes, course, sets.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { type AgentParameters, agentParameters, fitMonolith, PAPER_MONOLITH } from './itr/agent.ts';
import { type Course, costsAfter, follow, mostLoops } from './itr/compounding.ts';
import { readInstructions } from './itr/instructions.ts';
import { type Measures, measure } from './itr/measures.ts';
import { type Episode, type Gate, NO_DISCOVERY, play, type Words } from './itr/play.ts';
import { Product, RERANKER, type RouteQuestion } from './itr/product.ts';
import { askSet, putSet } from './itr/public-sets.ts';
import { itr, monolith, promptRag, routerOnly, type Strategy, sizeOf, type Whole } from './itr/strategies.ts';
import { catalogOf, readTasks, split, TASK_SETS, type Task } from './itr/tasks.ts';
import { readTools } from './itr/tool-box.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    seeds: { type: 'string', default: '3' },
    part: { type: 'string', default: 'all' },
    reranker: { type: 'string' },
  },
});

const seeds = Array.from({ length: Number(options.seeds) }, (_, seed) => seed);
const tools = readTools();
const instructions = readInstructions(tools);
const tasks = TASK_SETS.flatMap(readTasks);
const { choose, report } = split(tasks);
const agent = agentParameters();
const product = await Product.start(options.reranker);
const whole: Whole = { tools: tools.map(({ definition }) => definition), instructions };

/** Passes over the tasks to learn from before figures are taken. */
const PASSES = 1;
const K_A = 4;
const K_B = 2;
/** Fixed before the first run: the first as in the paper; the second has room for episodes of ten steps. */
const PROMPT_BUDGET = 1500;
const APPEND_BUDGET = 6000;
/** Room for twenty steps: a prompt that starts anew is written again with all its history. */
const COURSE_BUDGET = 12_000;
const DISCOVERY: Gate = { rating: true, least: 0 };

/** Of earlier runs of other parts. */
function read(): Record<string, unknown> {
  return existsSync(resultsFile()) ? JSON.parse(readFileSync(resultsFile(), 'utf8')) : {};
}

function resultsFile(): string {
  return join(packageRoot(), 'bench', 'results', 'itr.json');
}

let catalogs = 0;

interface Way {
  readonly name: string;
  readonly asked?: Partial<RouteQuestion>;
  readonly settings?: object;
  readonly gate?: Gate;
  readonly whole?: Whole;
  readonly agent?: AgentParameters;
  readonly passes?: number;
  readonly words?: Words;
  of(asked: Omit<RouteQuestion, 'query'>, whole: Whole): Strategy;
}

/** Plays tasks with each seed in a catalog of its own, after learning from those that are not reported. */
async function playWay(way: Way, played: readonly Task[]): Promise<Episode[]> {
  const episodes: Episode[] = [];
  for (const seed of seeds) {
    const catalog = `itr-${catalogs++}`;
    const carried = way.whole ?? whole;
    await product.put(catalog, carried.tools, carried.instructions, way.settings);
    const strategy = way.of({ catalog, k: K_B, maxInstructions: K_A, ...way.asked }, carried);
    const common = {
      tools,
      agent: way.agent ?? agent,
      gate: way.gate ?? NO_DISCOVERY,
      learns: product,
      ...(way.words && { words: way.words }),
    };
    for (let pass = 0; pass < (way.passes ?? PASSES); pass++) {
      for (const task of choose)
        await play(task, strategy, { ...common, key: `${seed}/learn${pass}/${catalog}` });
    }
    for (const task of played)
      episodes.push(await play(task, strategy, { ...common, key: `${seed}/${catalog}` }));
  }
  return episodes;
}

const BASELINES: readonly Way[] = [
  { name: 'B0 monolith', passes: 0, of: (_, all) => monolith(all) },
  {
    name: 'B1 router only',
    of: ({ catalog, k }, all) => routerOnly(product, all, { catalog, k }),
  },
  { name: 'B2 prompt-RAG', of: (asked, all) => promptRag(product, all, { ...asked, k: 1 }) },
];

function itrWay(name: string, assembly: 'prompt' | 'append', rest: Partial<Way> = {}): Way {
  const tokenBudget = assembly === 'prompt' ? PROMPT_BUDGET : APPEND_BUDGET;
  const of: Way['of'] = (asked, all) => itr(product, all, { tokenBudget, ...asked, assembly });
  return { name, of, gate: DISCOVERY, ...rest };
}

const percent = (share: number): string => (100 * share).toFixed(1);
const thousands = (tokens: number): string => Math.round(tokens).toLocaleString('en');

function show(title: string, rows: readonly object[]): void {
  console.log(`\n${title}`);
  console.table(rows);
}

function rowOf(name: string, m: Measures) {
  return {
    name,
    'tokens/step': thousands(m.tokensPerStep),
    'tools correct': percent(m.toolsCorrect),
    'gold there': percent(m.goldVisible),
    guided: percent(m.guided),
    success: percent(m.success),
    miss: percent(m.missRate),
    'steps/ep': m.stepsPerEpisode.toFixed(1),
    uncached: thousands(m.uncached),
    cached: thousands(m.cached),
    p50: m.p50.toFixed(1),
    p95: m.p95.toFixed(1),
  };
}

const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** On the tasks to choose on: budgets, and what is thought to be enough. */
  async choose() {
    const rows = [];
    for (const [assembly, budgets] of [
      ['prompt', [1000, 1500, 2500]],
      ['append', [8000, 12_000]],
    ] as const) {
      for (const tokenBudget of budgets) {
        const way = itrWay(`${assembly} ${tokenBudget}`, assembly, { asked: { tokenBudget }, passes: 1 });
        rows.push({ name: way.name, ...measure(await playWay(way, choose)) });
      }
    }
    for (const least of [0.3, 0.5, 0.7]) {
      const way = itrWay(`prompt, sufficiency below ${least}`, 'prompt', {
        gate: { rating: false, least },
        passes: 1,
      });
      rows.push({ name: way.name, ...measure(await playWay(way, choose)) });
    }
    show(
      'Chosen on a third of the tasks',
      rows.map(({ name, ...m }) => rowOf(name, m)),
    );
    return rows;
  },

  /** Tables 2 and 3. */
  async methods() {
    const ways = [...BASELINES, itrWay('ITR by prompt', 'prompt'), itrWay('ITR by append', 'append')];
    const found = new Map<string, Episode[]>();
    for (const way of ways) found.set(way.name, await playWay(way, report));
    const table = (sets: readonly string[]) =>
      [...found].map(([name, episodes]) => ({
        name,
        ...measure(episodes.filter(({ task }) => sets.includes(task.set))),
      }));
    const all = Object.fromEntries(
      [['all', TASK_SETS] as const, ...TASK_SETS.map((set) => [set, [set]] as const)].map(([name, sets]) => [
        name,
        table(sets),
      ]),
    );
    for (const [name, rows] of Object.entries(all)) {
      show(
        `Methods, ${name}; the paper: 30,000/62, 30,000/70, 11,000/66, 1,500/82 (Table 2); T2 success 64, 70, 72, 79`,
        rows.map(({ name: way, ...m }) => rowOf(way, m)),
      );
    }
    return all;
  },

  /** Table 4. */
  async misses() {
    const rows = [];
    for (const k of [1, 2]) {
      for (const [what, gate] of [
        ['no discovery', NO_DISCOVERY],
        ['when the agent says so', DISCOVERY],
        ['or sufficiency below .5', { rating: true, least: 0.5 }],
      ] as const) {
        const way = itrWay(`K_B ${k}, ${what}`, 'prompt', { asked: { k }, gate });
        rows.push({ name: way.name, ...measure(await playWay(way, report)) });
      }
    }
    show(
      'Misses; the paper: 6.1 (K_B 1, none), 2.4 (K_B 2, with)',
      rows.map(({ name, ...m }) => rowOf(name, m)),
    );
    return rows;
  },

  /** Section 5.8 and Table 6, and how much the assumptions about the agent matter. */
  async ablations() {
    const reranker = { model: RERANKER, budgetMs: 5000 };
    const reranked = [
      itrWay('reranker', 'prompt', { settings: { reranker } }),
      itrWay('policy itr, reranker', 'prompt', { settings: { reranker, policy: { name: 'itr' } } }),
    ];
    if (options.reranker === undefined) {
      console.log('No ablation of the reranker: name a cross-encoder with `--reranker <folder>`.');
    }
    const ways = [
      itrWay('as it is', 'prompt'),
      ...(options.reranker === undefined ? [] : reranked),
      itrWay('policy itr', 'prompt', { settings: { policy: { name: 'itr' } } }),
      itrWay('policy itr, dense alone', 'prompt', {
        settings: { policy: { name: 'itr', parameters: { w2: 0 } } },
      }),
      itrWay('policy itr, words alone', 'prompt', {
        settings: { policy: { name: 'itr', parameters: { w1: 0 } } },
      }),
      itrWay('K_A 1', 'prompt', { asked: { maxInstructions: 1 } }),
      itrWay('K_B 1', 'prompt', { asked: { k: 1 } }),
      itrWay('in the words of the task', 'prompt', { words: 'said' }),
      itrWay('nothing learned before', 'prompt', { passes: 0 }),
      itrWay('agent: prompt is a quarter', 'prompt', { agent: agentParameters({ promptShare: 0.25 }) }),
      itrWay('agent: prompt is three quarters', 'prompt', { agent: agentParameters({ promptShare: 0.75 }) }),
      itrWay('agent: α .25 unguided', 'prompt', { agent: agentParameters({ unguided: 0.25 }) }),
      itrWay('agent: α .75 unguided', 'prompt', { agent: agentParameters({ unguided: 0.75 }) }),
    ];
    const rows = [];
    for (const way of ways) rows.push({ name: way.name, ...measure(await playWay(way, report)) });
    show(
      'Ablations',
      rows.map(({ name, ...m }) => rowOf(name, m)),
    );
    return rows;
  },

  /** Table 5: single steps whose right tool is in the catalog; and those that all three catalogs can serve. */
  async sizes() {
    const small = new Set(catalogOf(tools, tasks, 8).map(({ definition }) => definition.name));
    const rows = [];
    for (const size of [8, 40, 120]) {
      const chosen = catalogOf(tools, tasks, size);
      const names = new Set(chosen.map(({ definition }) => definition.name));
      const steps = report.flatMap((task) => singleSteps(task, names));
      const smaller: Whole = { ...whole, tools: chosen.map(({ definition }) => definition) };
      for (const way of [BASELINES[0], itrWay('ITR', 'prompt')]) {
        const episodes = await playWay({ ...way, whole: smaller, passes: 0 }, steps);
        const same = episodes.filter(({ task }) => small.has(task.hops[0].gold[0]));
        const { toolsCorrect, goldVisible, tokensPerStep } = measure(episodes);
        const of = { size, name: way.name, steps: steps.length, toolsCorrect, goldVisible, tokensPerStep };
        rows.push({ ...of, sameSteps: measure(same).toolsCorrect });
      }
    }
    show('Catalog size; the paper: 74/84, 57/82, 45/76', rows);
    return rows;
  },

  /** Compounding over 20 steps, and Table 1. */
  async course() {
    const longTasks = report.filter(({ set }) => set === 'T2');
    // As many tasks as 20 steps take.
    const sessions = Array.from({ length: Math.floor(longTasks.length / 4) }, (_, at) =>
      longTasks.slice(4 * at, 4 * at + 4),
    );
    const catalog = `itr-${catalogs++}`;
    await product.put(catalog, whole.tools, whole.instructions);
    const asked = { catalog, k: K_B, maxInstructions: K_A, explore: false };
    const strategies = [
      monolith(whole),
      itr(product, whole, { ...asked, tokenBudget: PROMPT_BUDGET, assembly: 'prompt' }),
      itr(product, whole, { ...asked, tokenBudget: COURSE_BUDGET, assembly: 'append' }),
    ];
    const marks = [1, 5, 10, 20];
    const rows = [];
    for (const strategy of strategies) {
      const courses: Course[] = [];
      for (const [at, session] of sessions.entries()) {
        courses.push(await follow(strategy, session, 20, `course/${strategy.name}/${at}`));
      }
      const meanOf = (of: (course: Course) => number): number =>
        courses.reduce((sum, course) => sum + of(course), 0) / courses.length;
      const costs = (steps: number) => ({
        uncached: meanOf((course) => costsAfter(course, steps).uncached),
        cached: meanOf((course) => costsAfter(course, steps).cached),
        cachedWithoutHistory: meanOf((course) => costsAfter(course, steps).cachedWithoutHistory),
      });
      const after = Object.fromEntries(marks.map((steps) => [steps, costs(steps)]));
      const each = courses.map((course) => Math.round(costsAfter(course, 20).cached));
      rows.push({ name: strategy.name, visible: meanOf(({ visible }) => visible), after, each });
    }
    show(
      'Full-price tokens with a prompt cache after steps (without one, in brackets); the last column without history',
      rows.map(({ name, visible, after, each }) => ({
        name,
        'gold there': percent(visible),
        ...Object.fromEntries(
          marks.map((steps) => [
            steps,
            `${thousands(after[steps].cached)} (${thousands(after[steps].uncached)})`,
          ]),
        ),
        '20, no history': thousands(after[20].cachedWithoutHistory),
        'each session': each.map(thousands).join(' '),
      })),
    );
    const size = sizeOf(whole);
    const perInstruction = size.prompt / instructions.length;
    const perTool = size.tools / tools.length;
    const loops = [
      [50, 30],
      [150, 100],
      [300, 200],
      [500, 400],
      [800, 600],
    ].map(([many, with_]) => {
      const everything = Math.round(many * perInstruction + with_ * perTool);
      return {
        instructions: many,
        tools: with_,
        everything,
        mono: mostLoops(everything),
        itr: mostLoops(PROMPT_BUDGET),
      };
    });
    show('Loops within a million tokens; the paper: 480, 445, 390, 300, 190 against 499', loops);
    return { rows, loops };
  },

  /** Public catalogs with the bench's prompt. */
  async sets() {
    const rows = [];
    for (const set of ['seal-tools', 'bfcl-simple', 'mcp-zero']) {
      if (!existsSync(join(options.data, set))) {
        console.log(`There is no ${set} in ${options.data}: left out.`);
        continue;
      }
      const catalog = await putSet(product, options.data, set, instructions);
      for (const asked of [
        { tokenBudget: 1000, k: 2 },
        { tokenBudget: 1500, k: 5 },
        { tokenBudget: 3000, k: 10 },
      ]) {
        rows.push({
          k: asked.k,
          ...(await askSet(product, set, catalog, { ...asked, maxInstructions: K_A })),
        });
      }
    }
    show('Public catalogs with this prompt', rows);
    return rows;
  },
};

/** Each step of a task as a task of its own. */
function singleSteps(task: Task, names: ReadonlySet<string>): Task[] {
  return task.hops.flatMap((hop, at) =>
    hop.gold.some((name) => names.has(name))
      ? [{ ...task, id: `${task.id}.${at}`, hops: [hop], missing: () => [] }]
      : [],
  );
}

const { constant, distractor } = fitMonolith(PAPER_MONOLITH);
const about = {
  ...measuredOn('npx tsx bench/itr.ts'),
  ...{ tools: tools.length, instructions: instructions.length, tokens: sizeOf(whole) },
  ...{ tasks: { choose: choose.length, report: report.length } },
  agent: { ...agent, fittedTo: PAPER_MONOLITH, constant, distractor },
  fit: PAPER_MONOLITH.map(([n, share]) => ({ n, share, fitted: 1 / (1 + constant + distractor * (n - 1)) })),
};
console.log(about);
try {
  const names = options.part === 'all' ? Object.keys(PARTS) : options.part.split(',');
  for (const name of names) {
    const result = await PARTS[name]();
    const results = { ...read(), about, [name]: { load: loadavg()[0], seeds: seeds.length, result } };
    writeFileSync(resultsFile(), `${JSON.stringify(results, null, 2)}\n`);
  }
} finally {
  await product.close();
}
