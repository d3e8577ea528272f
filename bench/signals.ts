/**
 * Does the router learn where nobody reports anything? A simulated agent finds and calls tools; outcomes are what a gateway
 * makes of it (src/gateway/call-signals.ts), and are learned through the fold of the service.
 *
 *   npx tsx bench/signals.ts [--data ../shared/data] [--seeds 2] [--rows looks] [--validation]
 *
 * The agent calls each shown tool that fits with .93; a right call fails with .05. If it called none it calls a wrong one, which
 * succeeds with .7. After a wrong call it searches again with .5, once and with the same words, or takes another tool of the slate
 * with .3, or none. In some rows ten jobs follow one another in one task. Recall@5 is asked of held-out queries, without exploration. `--validation` asks parts of train in place of test.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { randomFor } from '../bandit/random.ts';
import { packageRoot } from '../config/package-root.ts';
import type { Decision } from '../src/decisions/decision.ts';
import { CallSignals, type SignalReport } from '../src/gateway/call-signals.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { completeOutcome } from '../src/rewards/reward-report.ts';
import { shuffled } from '../src/simulation/catalog-changes.ts';
import { evaluate, type LabelledQuery } from '../src/simulation/evaluate.ts';
import { meanOf } from '../src/simulation/simulate.ts';
import { SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { type Stream, streamOf } from './streams.ts';

/** How an agent behaves; probabilities 0…1. */
interface Behaviour {
  /** That a wrong call does not fail. */
  readonly wrongSucceeds: number;
  /** That it takes the shown tool that looks best, though it is wrong and a right one is shown. */
  readonly byLooks: number;
  /** That after a right call it searches for the rest of its job, which is the next query. */
  readonly goesOn: number;
  /** That somebody reports what was right about a call of the decision. */
  readonly reports: number;
  /** That another search for the same job has other words. */
  readonly rephrases: number;
  /** Jobs that follow one another in one task. */
  readonly jobs: number;
  /** The other way: every call that does not fail is a success, whatever is searched for after it. */
  readonly naive: boolean;
}

interface Row {
  readonly name: string;
  readonly behaviour: Partial<Behaviour>;
  /** Recall@5 to be reached on toollens test, after 5,000 decisions and after all. */
  readonly reach?: readonly [number, number];
  /** Share of the right calls that did not fail which have to be reported as successes. */
  readonly counted?: number;
}

const ROWS: readonly Row[] = [
  { name: 'wrong calls succeed .7', behaviour: {}, reach: [0.65, 0.77] },
  { name: '  every success counts', behaviour: { naive: true } },
  { name: '  wrong calls always fail', behaviour: { wrongSucceeds: 0 } },
  { name: 'takes what looks best in .3', behaviour: { byLooks: 0.3 }, reach: [0.54, 0.68] },
  { name: '  every success counts, by looks', behaviour: { byLooks: 0.3, naive: true } },
  { name: 'searches on after .3 of right calls', behaviour: { goesOn: 0.3 }, reach: [0.59, 0.74] },
  { name: '  and .02 of decisions are reported', behaviour: { goesOn: 0.3, reports: 0.02 } },
  { name: 'ten jobs in one task', behaviour: { jobs: 10 }, counted: 0.9 },
  { name: '  in other words after a wrong call', behaviour: { jobs: 10, rephrases: 1 }, counted: 0.9 },
];

const POLICY = DEFAULT_CATALOG_SETTINGS.policy;
const ORDINARY: Behaviour = {
  wrongSucceeds: 0.7,
  byLooks: 0,
  goesOn: 0,
  reports: 0,
  rephrases: 0,
  jobs: 1,
  naive: false,
};
const CALLS = 0.93;
const FAILS = 0.05;
const SEARCHES_AGAIN = 0.5;
const TAKES_ANOTHER = 0.3;
const SHOWN = 5;
const MARK = 5000;
const CATALOG = 'simulation';
const STEPS_PER_TURN = 64;

/** What the agent works on: one query, or several if it goes on. */
interface Task {
  readonly id: string;
  readonly decisions: Map<string, Decision>;
}

/** Plays the agent and the gateway of one catalog. */
class Play {
  readonly #catalog: SimulatedCatalog;
  readonly #behaviour: Behaviour;
  readonly #key: string;
  readonly #signals = new CallSignals(() => 0);
  /** Queries by the tools that fit them. */
  readonly #phrases: ReadonlyMap<string, readonly LabelledQuery[]>;
  /** Keys of reports on right calls that did not fail; and how many of these said so. */
  readonly #right = new Set<string>();
  #counted = 0;
  /** Of the task. */
  #jobs = 0;
  #calls = 0;
  #task: Task | null = null;

  constructor(
    catalog: SimulatedCatalog,
    behaviour: Behaviour,
    key: string,
    phrases: ReadonlyMap<string, readonly LabelledQuery[]>,
  ) {
    this.#phrases = phrases;
    this.#catalog = catalog;
    this.#behaviour = behaviour;
    this.#key = key;
  }

  step(step: number, query: LabelledQuery): void {
    this.#jobs = this.#task === null ? 1 : this.#jobs + 1;
    const random = randomFor(`${this.#key}/agent/${step}`);
    let draws = 0;
    const draw = (): number => random.uniform(draws++);
    const task = this.#task ?? { id: `${this.#key}/${step}`, decisions: new Map() };
    const fitting = new Set(query.relevant);

    const decision = this.#find(task, `${step}`, query);
    const called = this.#choose(decision, fitting, new Set(), draw);
    this.#callAll(task, decision, called, fitting, draw);
    const isRight = called.some((tool) => fitting.has(tool));
    if (!isRight) {
      const next = draw();
      if (next < SEARCHES_AGAIN) {
        const phrases = this.#phrases.get(sceneOf(query))!;
        const rephrases = this.#behaviour.rephrases > 0 && draw() < this.#behaviour.rephrases;
        const words = rephrases ? phrases[Math.floor(draw() * phrases.length)] : query;
        const again = this.#find(task, `${step}again`, words);
        this.#callAll(task, again, this.#choose(again, fitting, new Set(called), draw), fitting, draw);
      } else if (next < SEARCHES_AGAIN + TAKES_ANOTHER) {
        const others = shownBy(decision).filter((tool) => !called.includes(tool));
        this.#callAll(task, decision, [others[Math.floor(draw() * others.length)]], fitting, draw);
      }
    }
    const { jobs, goesOn } = this.#behaviour;
    this.#task = this.#jobs < jobs || (isRight && draw() < goesOn) ? task : null;
    if (this.#task === null) this.#end(task);
  }

  /** Share of the right calls that did not fail which were reported as successes. */
  get counted(): number {
    return this.#counted / this.#right.size;
  }

  #find(task: Task, name: string, query: LabelledQuery): Decision {
    const id = `${CATALOG}.${this.#key}x${name}`;
    const decision = this.#catalog.decide(id, query, SHOWN, true, { task: task.id });
    task.decisions.set(id, decision);
    if (this.#behaviour.naive) return decision;
    const { deadline } = decision;
    const search = { decisionId: id, query: query.text, tools: shownBy(decision), deadline };
    this.#learn(task, this.#signals.found(CATALOG, task.id, search));
    return decision;
  }

  /** Returns the tools that the agent calls from a slate. @param tried and found wrong before */
  #choose(
    decision: Decision,
    fitting: ReadonlySet<string>,
    tried: ReadonlySet<string>,
    draw: () => number,
  ): string[] {
    const shown = shownBy(decision);
    const wrong = shown.filter((tool) => !fitting.has(tool) && !tried.has(tool));
    const right = shown.filter((tool) => fitting.has(tool));
    if (right.length > 0 && wrong.length > 0 && draw() < this.#behaviour.byLooks) {
      const looks = (tool: string) => decision.columns.retrieval[decision.candidates.indexOf(tool)];
      return [wrong.reduce((best, tool) => (looks(tool) > looks(best) ? tool : best))];
    }
    const calls = right.filter(() => draw() < CALLS);
    if (calls.length > 0 || wrong.length === 0) return calls;
    return [wrong[Math.floor(draw() * wrong.length)]];
  }

  #callAll(
    task: Task,
    decision: Decision,
    tools: readonly string[],
    fitting: ReadonlySet<string>,
    draw: () => number,
  ): void {
    for (const tool of tools) {
      const succeeds = draw() < (fitting.has(tool) ? 1 - FAILS : this.#behaviour.wrongSucceeds);
      const id = `${this.#key}/${this.#calls++}`;
      const call = { id, tool, decisionId: decision.id, end: succeeds ? 'ok' : 'tool-error' } as const;
      if (succeeds && fitting.has(tool)) this.#right.add(`signal/${id}`);
      this.#learn(task, this.#signals.called(CATALOG, task.id, call));
    }
    if (tools.length > 0 && draw() < this.#behaviour.reports) this.#report(task, decision, tools[0], fitting);
  }

  #report(
    { id, decisions }: Task,
    { id: decisionId }: Decision,
    tool: string,
    fitting: ReadonlySet<string>,
  ): void {
    const outcome = completeOutcome({ outcome: fitting.has(tool) ? 'success' : 'failure' });
    this.#signals.reported(CATALOG, id, { tool, decisionId, value: outcome.value });
    const rewardId = `${decisionId}/${tool}/explicit`;
    this.#catalog.observe(decisions.get(decisionId)!, [{ rewardId, tool, weight: 1, ...outcome }]);
  }

  #end(task: Task): void {
    this.#learn(task, this.#signals.ended(CATALOG, task.id));
    this.#catalog.end([...task.decisions.values()]);
  }

  #learn({ decisions }: Task, reports: readonly SignalReport[]): void {
    for (const { decisionId, tool, weight, idempotencyKey, ...said } of reports) {
      if (said.outcome === 'success' && this.#right.has(idempotencyKey)) this.#counted++;
      const report = { rewardId: idempotencyKey, tool, weight, ...completeOutcome(said) };
      this.#catalog.observe(decisions.get(decisionId)!, [report]);
    }
  }
}

function shownBy({ slate, candidates }: Decision): string[] {
  return slate.map((index) => candidates[index]);
}

/** Queries that the same tools fit are of one scene. */
function sceneOf({ relevant }: LabelledQuery): string {
  return relevant.toSorted().join();
}

/** Plays one stream, and returns Recall@5 after 5,000 queries and after all, and the share of right calls that counted. */
async function play(kernels: Kernels, stream: Stream, behaviour: Behaviour, seed: number) {
  const catalog = new SimulatedCatalog(kernels, stream.tools[0].embedding?.length ?? 0, POLICY);
  try {
    catalog.put(stream.tools);
    const phrases = new Map<string, LabelledQuery[]>();
    for (const query of stream.queries) {
      const scene = sceneOf(query);
      const known = phrases.get(scene);
      if (known === undefined) phrases.set(scene, [query]);
      else known.push(query);
    }
    const agent = new Play(catalog, behaviour, `signals${seed}`, phrases);
    const fittingOf = ({ relevant }: LabelledQuery) => new Set(relevant);
    const recall = (after: number) => evaluate(catalog, stream.heldOut, fittingOf, after).recall[5];
    let marked = Number.NaN;
    const queries = shuffled(stream.queries, `simulation/${seed}/0`);
    for (const [step, query] of queries.entries()) {
      if (step === MARK) marked = recall(step);
      catalog.advance(step);
      agent.step(step, query);
      if (step % STEPS_PER_TURN === 0) await nextTurn();
    }
    return { marked, end: recall(queries.length), counted: agent.counted };
  } finally {
    catalog.free();
  }
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      data: { type: 'string', default: '../shared/data' },
      seeds: { type: 'string', default: '2' },
      rows: { type: 'string', default: '' },
      validation: { type: 'boolean', default: false },
    },
  });
  if (!existsSync(options.data)) {
    console.log(`No data sets in ${options.data}: nothing to measure. Give their folder with --data.`);
    return;
  }
  const kernels = await loadKernels();
  const embedder = await openModelFolder(join(packageRoot(), 'models', 'tool-static-256'));
  const stream = await streamOf(options.validation ? 'seen validation' : 'toollens', options.data, embedder);
  const load = loadavg()[0];
  const rows: object[] = [];
  console.log(`${''.padEnd(40)}  R@5 after ${MARK}    after all  right calls counted`);
  for (const { name, behaviour, reach, counted } of ROWS.filter(({ name }) => name.includes(options.rows))) {
    const played: Awaited<ReturnType<typeof play>>[] = [];
    for (let seed = 0; seed < Number(options.seeds); seed++) {
      played.push(await play(kernels, stream, { ...ORDINARY, ...behaviour }, seed));
    }
    const mean = (of: 'marked' | 'end' | 'counted') => meanOf(played.map((one) => one[of]));
    const [marked, end, share] = [mean('marked'), mean('end'), mean('counted')];
    const isReached = marked >= (reach?.[0] ?? 0) && end >= (reach?.[1] ?? 0) && share >= (counted ?? 0);
    const asked = [...(reach ?? []), ...(counted === undefined ? [] : [`counted ${counted}`])].join(' / ');
    const floor = asked === '' || options.validation ? '' : `  ${isReached ? 'ok' : 'BELOW'} ${asked}`;
    const shown = behaviour.naive ? '–' : share.toFixed(3);
    console.log(
      `${name.padEnd(40)}  ${marked.toFixed(3)}            ${end.toFixed(3)}      ${shown.padEnd(16)}${floor}`,
    );
    const measured = { after5000: marked, end, counted: share, seeds: played };
    rows.push({ name, behaviour, ...measured, ...(reach && { reach }), ...(counted && { asked: counted }) });
    if (options.rows !== '' || options.validation) continue;
    const report = { ...measuredOn('npx tsx bench/signals.ts'), load, model: embedder.fingerprint, rows };
    writeFileSync('bench/results/signals.json', `${JSON.stringify(report, null, 2)}\n`);
  }
  await embedder.close();
}

await main();
