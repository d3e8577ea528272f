/**
 * Would another first stage show the tools that are missed? The default policy learns with other candidates or other
 * retrieval scores; parts of the training data only.
 *
 *   npx tsx bench/first-stage.ts [--data ../shared/data] [--stream seen|unseen|repeat] [--variants "100 candidates,…"]
 *                                [--seeds 1]
 *   npx tsx bench/first-stage.ts --ranks [--stream seen]
 *
 * Prints Recall@5 after 1,000, 5,000 and all decisions. With --ranks: where each signal, learned beside the unchanged
 * policy, ranks the fitting tools that the policy did not show. What came of it:
 * docs/decisions/2026-11-22-first-stage.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nominate } from '../bandit/nominate.ts';
import { randomFor } from '../bandit/random.ts';
import { packageRoot } from '../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { proposals } from '../src/retrieval/best-slots.ts';
import { type Shortlist, shortlist } from '../src/retrieval/shortlist.ts';
import type { ToolIndex, ToolSearch, ToolSearchResult } from '../src/retrieval/tool-index.ts';
import { CAREFUL_AGENT, conductOf } from '../src/simulation/agent.ts';
import { shuffled } from '../src/simulation/catalog-changes.ts';
import { evaluate, type LabelledQuery } from '../src/simulation/evaluate.ts';
import { meanOf } from '../src/simulation/simulate.ts';
import { SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import {
  LinearMap,
  MoreWords,
  MovedVector,
  type Signal,
  TaughtWords,
  type Tools,
} from './first-stage/signals.ts';
import { type Stream, type StreamName, streamOf } from './streams.ts';

const STREAMS: Readonly<Record<string, readonly [name: StreamName, passes: number]>> = {
  seen: ['seen validation', 1],
  unseen: ['unseen validation', 1],
  repeat: ['seal-tools validation', 5],
};
const MARKS = [1000, 5000];
const SHOWN = 5;

type Search = ToolIndex['search'];
/** Answers a request in place of the index. */
type FirstStage = (request: ToolSearch, search: Search) => ToolSearchResult;

const SIGNALS: Readonly<Record<string, (tools: Tools) => Signal>> = {
  'vector towards tools': (tools) => new MovedVector(tools, 'tools'),
  'vector towards tools by vote': (tools) => new MovedVector(tools, 'tools by vote'),
  'vector towards queries': (tools) => new MovedVector(tools, 'queries'),
  'more words': (tools) => new MoreWords(tools, false),
  'more words by vote': (tools) => new MoreWords(tools, true),
  'taught words': (tools) => new TaughtWords(tools),
  'linear map': (tools) => new LinearMap(tools),
};

/** Which half of the retrieval score a signal is mixed into, and its share of that half. */
const MIXED: Readonly<Record<string, readonly [half: 'lexical' | 'dense', share: number]>> = {
  'vector towards tools': ['dense', 0.5],
  'vector towards tools by vote': ['dense', 1],
  'vector towards queries': ['dense', 0.5],
  'more words': ['lexical', 0.5],
  'more words by vote': ['lexical', 1],
  'taught words': ['lexical', 0.3],
  'linear map': ['dense', 0.3],
};

const CANDIDATES: Readonly<Record<string, FirstStage>> = {
  baseline: (request, search) => search(request),
  '100 candidates': (request, search) => search({ ...request, limit: 100 }),
  '20 nominations': (request, search) => {
    const found = new Set(search(request).candidates.slots);
    return search({ ...request, pin: nominate(request.recall!, (slot) => !found.has(slot)) });
  },
};

function mixed(signal: Signal, half: 'lexical' | 'dense', share: number, tools: number): FirstStage {
  return (request, search) => {
    const { candidates, ...best } = search({ ...request, recall: undefined, limit: tools });
    const other = scaled(signal.score(request, request.recall!));
    const columns = { lexical: candidates.lexical, dense: candidates.dense };
    const old = columns[half];
    columns[half] = Float64Array.from(
      candidates.slots,
      (slot, i) => (1 - share) * old[i] + share * other[slot],
    );
    const base = columns.lexical.map((h, i) => 0.5 * h + 0.5 * columns.dense[i]);
    const row = new Int32Array(tools);
    for (const [i, slot] of candidates.slots.entries()) row[slot] = i;
    const scores = {
      of: (slot: number) => {
        const { lexical, dense } = columns;
        const similarity = candidates.similarity[row[slot]];
        return { lexical: lexical[row[slot]], dense: dense[row[slot]], base: base[row[slot]], similarity };
      },
    };
    const retrieved = proposals(candidates.slots, base, request);
    const chosen: Shortlist = shortlist({ has: () => true }, retrieved, scores, request);
    return { ...best, ...chosen };
  };
}

/** Brought to 0…1; a signal that says nothing is 0. */
function scaled(scores: Float64Array): Float64Array {
  const minimum = scores.reduce((a, b) => Math.min(a, b));
  const range = scores.reduce((a, b) => Math.max(a, b)) - minimum;
  return scores.map((score) => (range > 0 ? (score - minimum) / range : 0));
}

interface Played {
  /** Recall@5 at the marks and at the end. */
  readonly recalls: number[];
  /** Of one search, µs. */
  readonly microseconds: number;
}

/** Plays a stream as `simulate` does, with the same draws. `atMark` sees the catalog before every evaluation. */
async function play(
  { tools, queries, heldOut }: Stream,
  passes: number,
  seed: number,
  signals: readonly Signal[],
  stage: FirstStage,
  atMark: (catalog: SimulatedCatalog, step: number) => void = () => {},
): Promise<Played> {
  const key = `simulation/${seed}`;
  const order = Array.from({ length: passes }, (_, pass) => shuffled(queries, `${key}/${pass}`)).flat();
  const { policy: settings } = DEFAULT_CATALOG_SETTINGS;
  const catalog = new SimulatedCatalog(await loadKernels(), tools[0].embedding!.length, settings);
  catalog.put(tools);

  // Not in the product: the one index of this catalog answers otherwise, and its one policy passes on what it learns.
  const { index } = catalog;
  const search = index.search.bind(index);
  let spent = 0;
  let searches = 0;
  index.search = (request) => {
    const start = performance.now();
    const result = stage(request, search);
    spent += performance.now() - start;
    searches++;
    return result;
  };
  const { policy } = catalog.state.learners.active;
  const learn = policy.learn.bind(policy);
  policy.learn = (example, reward, weight) => {
    for (const signal of signals) signal.learn?.(example, reward);
    learn(example, reward, weight);
  };
  const remember = policy.remember.bind(policy);
  policy.remember = (query, outcomes, at, unit) => {
    const caseId = remember(query, outcomes, at, unit);
    for (const signal of signals) signal.remember?.(caseId, query, outcomes);
    return caseId;
  };

  const fittingOf = ({ relevant }: LabelledQuery) => new Set(relevant);
  const recalls: number[] = [];
  const mark = (step: number): void => {
    atMark(catalog, step);
    recalls.push(evaluate(catalog, heldOut, fittingOf, step).recall[SHOWN]);
  };
  for (const [step, query] of order.entries()) {
    if (MARKS.includes(step)) mark(step);
    catalog.advance(step);
    const decision = catalog.decide(`simulation.${seed}x${step}`, query, SHOWN, true);
    const shown = decision.slate.map((at) => decision.candidates[at]);
    const random = randomFor(`${key}/agent/${step}`);
    catalog.report(decision, conductOf(shown, fittingOf(query), CAREFUL_AGENT, random).calls);
  }
  mark(order.length);
  catalog.free();
  return { recalls, microseconds: (1000 * spent) / searches };
}

async function variant(name: string, stream: Stream, passes: number, seed: number): Promise<Played> {
  const stage = CANDIDATES[name];
  if (stage !== undefined) return play(stream, passes, seed, [], stage);
  const signal = SIGNALS[name](stream.tools);
  const [half, share] = MIXED[name];
  return play(stream, passes, seed, [signal], mixed(signal, half, share, stream.tools.length));
}

async function printRanks(stream: Stream, passes: number): Promise<void> {
  const { tools, heldOut } = stream;
  const signals = Object.entries(SIGNALS).map(([name, make]) => [name, make(tools)] as const);
  const slots = new Map(tools.map(({ tool }, slot) => [tool.name, slot]));
  const learned = signals.map(([, signal]) => signal);
  await play(stream, passes, 0, learned, CANDIDATES.baseline, (catalog, step) => {
    const ranks = new Map<string, number[]>([
      ['g', []],
      ...signals.map(([name]) => [name, []] as [string, number[]]),
    ]);
    for (const [at, query] of heldOut.entries()) {
      const decision = catalog.decide(`ranks${at}`, query, SHOWN, false);
      const shown = new Set(decision.slate.map((index) => decision.candidates[index]));
      const missed = query.relevant.filter((name) => !shown.has(name)).map((name) => slots.get(name)!);
      if (missed.length === 0) continue;
      const recall = catalog.state.learners.active.policy.recall(decision.query);
      const { candidates } = catalog.index.search({ ...query, limit: tools.length });
      const g = new Float64Array(tools.length);
      for (const [i, slot] of candidates.slots.entries()) g[slot] = candidates.base[i];
      for (const [name, scores] of [
        ['g', g] as const,
        ...signals.map(([name, one]) => [name, one.score(query, recall)] as const),
      ]) {
        for (const slot of missed)
          ranks.get(name)!.push(1 + scores.filter((score) => score > scores[slot]).length);
      }
    }
    console.log(`after ${step}: ${ranks.get('g')!.length} missed; median rank, share in the best 50`);
    for (const [name, list] of ranks) {
      list.sort((a, b) => a - b);
      const share = list.filter((rank) => rank <= 50).length / list.length;
      console.log(`  ${name.padEnd(30)} ${list[list.length >> 1]} ${share.toFixed(2)}`);
    }
  });
}

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    stream: { type: 'string', default: 'seen' },
    variants: { type: 'string', default: [...Object.keys(CANDIDATES), ...Object.keys(SIGNALS)].join(',') },
    seeds: { type: 'string', default: '1' },
    ranks: { type: 'boolean', default: false },
  },
});

const embedder = await openModelFolder(options.model);
const [name, passes] = STREAMS[options.stream];
const stream = await streamOf(name, options.data, embedder);
await embedder.close();
if (options.ranks) await printRanks(stream, passes);
else {
  for (const name of options.variants.split(',')) {
    const played: Played[] = [];
    for (let seed = 0; seed < Number(options.seeds); seed++)
      played.push(await variant(name, stream, passes, seed));
    const recalls = played[0].recalls.map((_, at) => meanOf(played.map((one) => one.recalls[at])).toFixed(3));
    const microseconds = meanOf(played.map((one) => one.microseconds)).toFixed(0);
    console.log(`${options.stream} ${name.padEnd(30)} ${recalls.join(' ')} search ${microseconds} µs`);
  }
}
