/**
 * A description changed so much that the cosine between its old and its new vector is below .8: should what was
 * learned about the tool be kept, halved or forgotten? At half of the stream a third of the tools get other
 * descriptions, in three ways:
 *   reworded    half of the words go, a phrase of another style comes: the tool is what it was
 *   reused      pairs of similar tools swap descriptions and what they do: names that were given to other tools
 *   both        one half of them so, the other half so
 * Quality is the share of fitting tools in the slate, over the queries that a changed tool fits: in the first fifth
 * after the change, and from the change to the end. The sample catalog is in the repository; ToolLens (its train part,
 * nothing else) is read from --data.
 *
 *   npx tsx bench/changed-descriptions.ts [--data ../shared/data] [--seeds 3]
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import type { Policy } from '../bandit/policy.ts';
import { randomFor } from '../bandit/random.ts';
import { cosine } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { CAREFUL_AGENT, conductOf } from '../src/simulation/agent.ts';
import { shuffled } from '../src/simulation/catalog-changes.ts';
import type { LabelledQuery } from '../src/simulation/evaluate.ts';
import { type Label, prepare } from '../src/simulation/prepare.ts';
import { meanOf } from '../src/simulation/simulate.ts';
import { type PreparedTool, SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { LabelledSet } from './labelled-set.ts';
import { measuredOn } from './measured-on.ts';

const K = 5;
const CHANGED_SHARE = 1 / 3;
const SAME_TOOL_FROM = 0.8;
const RULES = ['keep', 'halve', 'forget'] as const;
const KINDS = ['reworded', 'reused', 'both'] as const;
type Rule = (typeof RULES)[number];
type Kind = (typeof KINDS)[number];

const POLICY = DEFAULT_CATALOG_SETTINGS.policy;

interface Stream {
  readonly name: string;
  readonly tools: readonly PreparedTool[];
  readonly queries: readonly LabelledQuery[];
  readonly passes: number;
}

/** What becomes of some tools at half. */
interface Change {
  readonly put: readonly PreparedTool[];
  /** The tool that does from then on what this one did. */
  readonly successors: ReadonlyMap<string, string>;
  readonly names: ReadonlySet<string>;
  /** Share of the changed tools whose vector moved below the limit. */
  readonly far: number;
}

const PHRASES = [
  'Use this whenever somebody asks for it.',
  'Convenient access to the following, provided as is:',
  'Part of the standard toolset; see the manual for limits.',
];

async function changeOf(kind: Kind, tools: readonly PreparedTool[], embedder: Embedder, seed: number) {
  const key = `changed-descriptions/${kind}/${seed}`;
  const byName = new Map(tools.map((tool) => [tool.tool.name, tool]));
  const chosen = shuffled([...byName.keys()], key).slice(0, Math.floor(CHANGED_SHARE * tools.length));
  const reusedCount = { reworded: 0, reused: chosen.length, both: chosen.length / 2 }[kind];
  const reused = chosen.slice(0, 2 * Math.floor(reusedCount / 2));
  const put: PreparedTool[] = [];
  const successors = new Map<string, string>();
  for (const [a, b] of similarPairs(reused, byName)) {
    put.push(swapped(byName.get(a)!, byName.get(b)!), swapped(byName.get(b)!, byName.get(a)!));
    successors.set(a, b);
    successors.set(b, a);
  }
  const random = randomFor(`${key}/words`);
  let draws = 0;
  const reworded = chosen.slice(reused.length).map((name) => {
    const { tool } = byName.get(name)!;
    const words = tool.description.split(/\s+/).filter(() => random.uniform(draws++) < 0.5);
    const phrase = PHRASES[Math.floor(random.uniform(draws++) * PHRASES.length)];
    return { ...tool, description: [phrase, ...words].join(' ') };
  });
  // As labelled sets name their tools, the vector of a swapped description comes with it; these are new.
  const vectors = reworded.length === 0 ? [] : await embedder.embedDocuments(reworded.map(denseText));
  for (const [i, tool] of reworded.entries()) put.push({ tool, embedding: vectors[i] });
  const far = meanOf(
    put.map(({ tool, embedding }) => {
      return cosine(byName.get(tool.name)!.embedding!, embedding!) < SAME_TOOL_FROM ? 1 : 0;
    }),
  );
  return { put, successors, names: new Set(put.map(({ tool }) => tool.name)), far } satisfies Change;
}

/** `of` with the name of `as`. */
function swapped(as: PreparedTool, of: PreparedTool): PreparedTool {
  return { tool: { ...of.tool, name: as.tool.name }, embedding: of.embedding };
}

/** Each with the most similar one that is left. */
function similarPairs(
  names: readonly string[],
  byName: ReadonlyMap<string, PreparedTool>,
): [string, string][] {
  const left = new Set(names);
  const pairs: [string, string][] = [];
  for (const name of names) {
    if (!left.delete(name)) continue;
    const own = byName.get(name)!.embedding!;
    const similarity = (other: string): number => cosine(own, byName.get(other)!.embedding!);
    const [nearest] = [...left].sort((a, b) => similarity(b) - similarity(a));
    if (nearest === undefined) break;
    left.delete(nearest);
    pairs.push([name, nearest]);
  }
  return pairs;
}

interface Quality {
  readonly soon: number;
  readonly after: number;
  /** Over all queries after the change, whether or not a changed tool fits. */
  readonly everything: number;
}

function play(stream: Stream, change: Change, rule: Rule, kernels: Kernels, seed: number): Quality {
  const key = `changed-descriptions/${stream.name}/${seed}`;
  const passes = Array.from({ length: stream.passes }, (_, pass) =>
    shuffled(stream.queries, `${key}/${pass}`),
  );
  const queries = passes.flat();
  const half = Math.floor(queries.length / 2);
  const soonEnds = half + Math.floor(queries.length / 10);
  const catalog = new SimulatedCatalog(kernels, stream.tools[0].embedding!.length, POLICY);
  catalog.put(stream.tools);
  applyRule(catalog.state.learners.active.policy, rule);
  const quality = { soon: [] as number[], after: [] as number[], everything: [] as number[] };
  for (const [step, query] of queries.entries()) {
    catalog.advance(step);
    if (step === half) catalog.put(change.put);
    const changed = step >= half;
    const fitting = new Set(
      query.relevant.map((name) => (changed ? (change.successors.get(name) ?? name) : name)),
    );
    const decision = catalog.decide(`${key}x${step}`, query, K, true);
    const shown = decision.slate.map((index) => decision.candidates[index]);
    const share = shown.filter((name) => fitting.has(name)).length / fitting.size;
    if (changed) {
      quality.everything.push(share);
      if ([...fitting].some((name) => change.names.has(name))) {
        quality.after.push(share);
        if (step < soonEnds) quality.soon.push(share);
      }
    }
    const { calls } = conductOf(shown, fitting, CAREFUL_AGENT, randomFor(`${key}/agent/${step}`));
    catalog.report(decision, calls);
  }
  catalog.free();
  return {
    soon: meanOf(quality.soon),
    after: meanOf(quality.after),
    everything: meanOf(quality.everything),
  };
}

/** What this policy does on a change, in place of its own rule. */
function applyRule(policy: Policy, rule: Rule): void {
  const halve = policy.changeTool.bind(policy);
  policy.changeTool = (slot, similarity) => {
    if (rule === 'halve') halve(slot, similarity);
    if (rule === 'forget' && similarity < SAME_TOOL_FROM) policy.forgetTool(slot);
  };
}

async function sampleStream(embedder: Embedder): Promise<Stream> {
  const folder = join(packageRoot(), 'examples', 'sample-catalog');
  const { tools } = JSON.parse(readFileSync(join(folder, 'tools.json'), 'utf8'));
  const lines = readFileSync(join(folder, 'queries.learn.jsonl'), 'utf8').trim().split('\n');
  const labels = lines.map((line) => JSON.parse(line) as Label);
  const prepared = await prepare(tools, labels, embedder);
  return { name: 'sample catalog', ...prepared, passes: 4 };
}

/** Rows of its train part that no other choice is reported on. */
async function toollensStream(data: string, embedder: Embedder): Promise<Stream> {
  const set = new LabelledSet(data, 'toollens', embedder);
  const train = await set.queries('train');
  const rows = train.slice(0, train.length - 2000).filter((_, at) => at % 6 === 0);
  return { name: 'toollens train', tools: await set.tools(), queries: rows, passes: 1 };
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      data: { type: 'string', default: '../shared/data' },
      seeds: { type: 'string', default: '3' },
    },
  });
  const kernels = await loadKernels();
  const embedder = await openModelFolder(join(packageRoot(), 'models', 'tool-static-256'));
  const streams = [await sampleStream(embedder)];
  if (existsSync(options.data)) streams.push(await toollensStream(options.data, embedder));
  else
    console.log(`No data sets in ${options.data}: the sample catalog alone. Give their folder with --data.`);

  const rows: Record<string, string | number>[] = [];
  for (const stream of streams) {
    for (const kind of KINDS) {
      const qualities: Record<Rule, Quality[]> = { keep: [], halve: [], forget: [] };
      const far: number[] = [];
      for (let seed = 0; seed < Number(options.seeds); seed++) {
        const change = await changeOf(kind, stream.tools, embedder, seed);
        far.push(change.far);
        for (const rule of RULES) {
          qualities[rule].push(play(stream, change, rule, kernels, seed));
        }
      }
      for (const [rule, of] of Object.entries(qualities)) {
        const mean = (part: keyof Quality): number => meanOf(of.map((quality) => quality[part]));
        // Same streams, same agents: differences from halving, and their standard error over seeds.
        const differences = of.map((quality, i) => quality.after - qualities.halve[i].after);
        const difference = meanOf(differences);
        const deviation = Math.sqrt(meanOf(differences.map((value) => (value - difference) ** 2)));
        rows.push({
          stream: stream.name,
          change: kind,
          'cosine below .8': rounded(meanOf(far)),
          rule,
          'first fifth': rounded(mean('soon')),
          'to the end': rounded(mean('after')),
          'against halving': rounded(difference),
          '±': rounded(deviation / Math.sqrt(Math.max(1, of.length - 1))),
          'all queries': rounded(mean('everything')),
        });
        console.log(Object.values(rows[rows.length - 1]).join('  '));
      }
    }
  }
  await embedder.close();
  console.table(rows);
  mkdirSync('bench/results', { recursive: true });
  const results = {
    ...measuredOn('npx tsx bench/changed-descriptions.ts'),
    seeds: Number(options.seeds),
    rows,
  };
  writeFileSync('bench/results/changed-descriptions.json', `${JSON.stringify(results, null, 2)}\n`);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

await main();
