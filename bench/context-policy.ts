/**
 * After how many outcomes do a new user's habits help to find the tool? `sc-linucb-context` beside the default policy on the simulated users
 * of context.ts: others have used the catalog before, then all users of the test part come new to it, and their own queries are asked
 * after 0, 1, 2, … of their outcomes.
 *
 *   npx tsx bench/context-policy.ts [--seed 1] [--users 140] [--earlier 120] [--validation]
 *
 * Items are chosen by the model that ships, with what was used until then; the slate of five is drawn as the service draws it. The agent
 * calls the tool that its user called, if it is shown, and reports it; else it reports nothing. --validation: users of the training part that nothing else
 * learned from, on which the weights that the policy begins with were chosen.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawSlate } from '../bandit/exploration/draw-slate.ts';
import { createPolicy } from '../bandit/policies/registry.ts';
import type { Candidates, ChosenContext, Policy, QueryFeatures } from '../bandit/policy.ts';
import { randomFor } from '../bandit/random.ts';
import { ContextRanker } from '../bandit/ranking/context-ranker.ts';
import { product } from '../bandit/ranking/semantic-map.ts';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { Bm25Index } from '../src/retrieval/bm25.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { readTools, STORES } from './context/facets.ts';
import { type Judged, judge } from './context/judged.ts';
import { type PastUse, type Persona, type Query, simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    users: { type: 'string', default: '140' },
    earlier: { type: 'string', default: '120' },
    validation: { type: 'boolean', default: false },
  },
});

const VALIDATION_PERSONAS = 65;
/** Outcomes of each of the users who were there before. */
const EARLIER_OUTCOMES = 8;
/** Own outcomes after which a user's queries are asked. */
const AFTER = [0, 1, 2, 4, 8, 16];
const MOST_ITEMS = 3;
/** As the service turns scores into probabilities, and from which on an item is served. */
const PROBABILITY = { at: -1.45, by: 1.12, threshold: 0.4 };
const SHOWN = 5;
const TEMPERATURE = 0.03;
const KS = [1, 3, 5];
/** What is learned depends on what was drawn: the mean over as many lives. */
const LIVES = 4;
const POLICIES = ['sc-linucb-memory', 'sc-linucb-context'] as const;

/** A query as policies get it, and the tool that its user calls. */
interface Asked {
  readonly query: QueryFeatures;
  readonly candidates: Candidates;
  readonly tool: number;
}

/** A new user: their outcomes in order, and by how many of them are known their queries. */
interface NewUser {
  readonly outcomes: readonly Asked[];
  readonly queries: ReadonlyMap<number, readonly Asked[]>;
}

async function main(): Promise<void> {
  const embedder = remembering(await openModelFolder(bundledModelFolder()));
  const world = simulatedWorld(Number(options.seed));
  const known = world.training.slice(0, Number(options.earlier));
  const fresh = options.validation ? world.training.slice(-VALIDATION_PERSONAS) : world.test;
  const kernels = await loadKernels();
  const forms = readTools();
  const texts = forms.map(({ name, description }) => `${name} ${description}`);
  const vectors = new ToolVectors(kernels, embedder.dimensions);
  for (const [slot, vector] of (await embedder.embedDocuments(texts)).entries()) vectors.put(slot, vector);
  const words = new Bm25Index();
  for (const [slot, text] of texts.entries()) words.put(slot, tokenise(text));
  const bytes = readFileSync(join(packageRoot(), 'models', 'context-ranker', 'context-ranker.bin'));
  const ranker = ContextRanker.decode(bytes);

  const asked = (judged: Judged, unit: number): Asked => {
    const { query, embedding } = judged;
    const tokens = tokenise(query.text);
    const { scores } = words.search(tokens);
    const best = Math.max(1e-9, ...texts.map((_, slot) => scores[slot]));
    const similarity = Float64Array.from(texts, (_, slot) => product(embedding, vectors.get(slot)));
    const [least, most] = [Math.min(...similarity), Math.max(...similarity)];
    const lexical = Float64Array.from(texts, (_, slot) => scores[slot] / best);
    const dense = similarity.map((value) => (value - least) / (most - least));
    const candidates = {
      slots: Int32Array.from(texts.keys()),
      ...{ lexical, dense, similarity },
      base: lexical.map((value, slot) => (value + dense[slot]) / 2),
    };
    const features = { embedding, terms: words.queryTerms(tokens), context: chosen(judged, unit, ranker) };
    return { query: features, candidates, tool: forms.findIndex(({ name }) => name === query.tools[0]) };
  };

  const earlier: Asked[] = [];
  for (const [at, persona] of known.entries()) {
    for (let n = 0; n < Math.min(EARLIER_OUTCOMES, persona.past.length); n++) {
      earlier.push(asked(await outcomeOf(persona, n, embedder), 1 + at));
    }
  }
  const users: NewUser[] = [];
  for (const persona of fresh) {
    if (users.length === Number(options.users)) break;
    if (persona.past.length < AFTER[AFTER.length - 1]) continue;
    const unit = 1_000_000 + users.length;
    const outcomes: Asked[] = [];
    const queries = new Map<number, readonly Asked[]>();
    for (let n = 0; n <= AFTER[AFTER.length - 1]; n++) {
      if (AFTER.includes(n)) {
        const all = await judge([{ ...persona, past: persona.past.slice(0, n) }], embedder);
        queries.set(
          n,
          all.map((judged) => asked(judged, unit)),
        );
      }
      if (n < persona.past.length) outcomes.push(asked(await outcomeOf(persona, n, embedder), unit));
    }
    users.push({ outcomes, queries });
  }
  const play = (name: string, life: number): number[][] => {
    const policy = createPolicy(name, { kernels, vectors, parameters: {}, derived: true });
    for (const slot of texts.keys()) policy.addTool(slot);
    for (const [at, one] of earlier.entries()) learn(policy, one, `${life}/earlier/${at}`);
    const curve: number[][] = [];
    for (let n = 0; n <= AFTER[AFTER.length - 1]; n++) {
      if (AFTER.includes(n)) curve.push(hits(policy, users, n));
      for (const [at, { outcomes }] of users.entries())
        if (n < outcomes.length) learn(policy, outcomes[n], `${life}/${n}/${at}`);
    }
    policy.free();
    return curve;
  };
  console.log(JSON.stringify(measuredOn('npx tsx bench/context-policy.ts')));
  const count = users.reduce((sum, { queries }) => sum + queries.get(0)!.length, 0);
  console.log(`${users.length} new users, ${count} queries; ${earlier.length} outcomes of others before`);
  console.log(`| policy | right tool among | ${AFTER.join(' | ')} own outcomes |`);
  for (const name of POLICIES) {
    const lives = Array.from({ length: LIVES }, (_, life) => play(name, life));
    for (const [at, k] of KS.entries()) {
      const cells = AFTER.map((_, column) => {
        const sum = lives.reduce((all, curve) => all + curve[column][at], 0);
        return ((100 * sum) / LIVES).toFixed(1);
      });
      console.log(`| ${name} | ${k} | ${cells.join(' | ')} |`);
    }
  }
}

/** The n-th use of a persona, as it was asked for then. */
async function outcomeOf(persona: Persona, n: number, embedder: Embedder): Promise<Judged> {
  const use = persona.past[n];
  const items = persona.items.filter(({ put }) => put <= use.time);
  const then = {
    items,
    past: persona.past.slice(0, n).map((one) => among(one, items)),
    queries: [queryOf(use)],
  };
  const [judged] = await judge([then], embedder);
  return judged;
}

function among(use: PastUse, items: Persona['items']): PastUse {
  return { ...use, items: use.items.filter((id) => items.some((item) => item.id === id)) };
}

function queryOf({ query: text, time: now, place, items: relevant, tools }: PastUse): Query {
  return { text, thought: '', now, place, recent: [], relevant, tools, args: {} };
}

function chosen({ candidates, moment }: Judged, unit: number, ranker: ContextRanker): ChosenContext {
  const { at, by, threshold } = PROBABILITY;
  const best = ranker
    .rank(candidates, moment)
    .slice(0, MOST_ITEMS)
    .map(({ item, score }) => ({ item: candidates[item], score: 1 / (1 + Math.exp(-(at + by * score))) }))
    .filter(({ score }) => score >= threshold);
  const total = best.reduce((sum, { score }) => sum + score, 0);
  const stores = Object.keys(STORES).map((store) =>
    best.reduce((sum, one) => sum + (one.item.store === store ? one.score / total : 0), 0),
  );
  const features =
    best.length === 0
      ? []
      : [1, best[0].score, 1 - 1 / (1 + best.length), ...stores.map((share) => Math.min(1, share))];
  return {
    ...{ unit, at: moment.now * 1000, features },
    items: best.map(({ item }) => ({ number: Number(item.id.split('-')[1]) })),
  };
}

function rank(policy: Policy, { query, candidates }: Asked, key: string) {
  return policy.rank({ query, candidates, recall: policy.recall(query), random: randomFor(`${key}/rank`) });
}

/** A decision and its outcome, as the fold learns it. */
function learn(policy: Policy, asked: Asked, key: string): void {
  const { query, candidates, tool } = asked;
  const { score, features } = rank(policy, asked, key);
  const random = randomFor(`${key}/draw`);
  const slate = drawSlate({ score, k: SHOWN, temperature: TEMPERATURE, mode: 'plackett-luce', random });
  if (!slate.includes(tool)) return;
  const width = policy.extras.length;
  const outcomes = Array.from(slate, (slot) => ({ slot, reward: slot === tool ? 1 : 0 }));
  policy.countCall(tool, 1, 1);
  for (const { slot, reward } of outcomes) {
    const extras = features.slice(slot * width, (slot + 1) * width);
    policy.learn({ query, slot, similarity: candidates.similarity[slot], extras }, reward, 1);
  }
  policy.remember(query, outcomes, query.context!.at, query.context!.unit);
}

/** Share of the queries whose tool is among the first K, ranked without exploration. */
function hits(policy: Policy, users: readonly NewUser[], n: number): number[] {
  const [found, all] = [KS.map(() => 0), users.flatMap(({ queries }) => queries.get(n)!)];
  for (const one of all) {
    const { mean } = rank(policy, one, 'asked');
    const place = mean.reduce((sum, value) => sum + (value > mean[one.tool] ? 1 : 0), 0);
    for (const [at, k] of KS.entries()) if (place < k) found[at]++;
  }
  return found.map((count) => count / all.length);
}

/** Embeds each text once. */
function remembering(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array>();
  const once = async (kind: 'embedDocuments' | 'embedQueries', texts: readonly string[]) => {
    const missing = [...new Set(texts)].filter((text) => !known.has(kind + text));
    const made = missing.length === 0 ? [] : await embedder[kind](missing);
    for (const [at, text] of missing.entries()) known.set(kind + text, made[at]);
    return texts.map((text) => known.get(kind + text)!);
  };
  return Object.assign(Object.create(embedder) as Embedder, {
    embedDocuments: (texts: readonly string[]) => once('embedDocuments', texts),
    embedQueries: (texts: readonly string[]) => once('embedQueries', texts),
  });
}

await main();
