import { COLUMNS, type ContextFeature } from '../../bandit/ranking/context-features.ts';
import type { ContextRanker, RankedItem } from '../../bandit/ranking/context-ranker.ts';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { readExplicit, readTools } from './facets.ts';
import { asking, type Judged, judge } from './judged.ts';
import type { Persona } from './world.ts';

/** Items of a query that the probability is fitted to, and that are served. */
const [FITTED, SERVED] = [5, 3];
const [STEPS, RATE] = [6000, 0.5];
const THRESHOLDS = [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6];
/** What a query that needs nothing may get at most: items, on the validation part. */
const MOST_SERVED = 0.3;
/** Of an item, that somebody says who names it. */
const NAMED_WORDS = 3;
const READ: readonly ContextFeature[] = ['cosine', 'mapped product', 'asked cosine', 'words'];

interface Row {
  /** 1, the score, the features, and how clearly the query names a tool. */
  readonly x: readonly number[];
  readonly isNeeded: boolean;
  readonly isExplicit: boolean;
  readonly place: number;
}

export interface Calibrated {
  readonly threshold: number;
  readonly precision: number;
  readonly recall: number;
  /** Items that are served for a query that needs nothing, and queries that get any, of all, in percent. */
  readonly unneeded: number;
  readonly disturbed: number;
}

/** The best items of queries that need some, and of as many of the same users that say all that they want. */
export async function calibrationRows(
  personas: readonly Persona[],
  half: 0 | 1,
  ranker: ContextRanker,
  embedder: Embedder,
) {
  const tools = readTools();
  const toolVectors = await embedder.embedDocuments(
    tools.map(({ name, description }) => `${name} ${description}`),
  );
  // Those that name a tool of the user and those that have nothing to do with any, in equal parts.
  const explicit = readExplicit(half);
  const [own, general] = [
    explicit.filter(({ tool }) => tool !== null),
    explicit.filter(({ tool }) => tool === null),
  ];
  const embeddings = new Map<string, Float32Array>();
  for (const { text } of explicit) embeddings.set(text, (await embedder.embedQueries([text]))[0]);
  const rows: Row[] = [];
  let needed = 0;
  const judged = await judge(personas, embedder);
  for (const [at, one] of judged.entries()) {
    const count = one.relevant.filter(Boolean).length;
    needed += at % 3 === 2 ? 1 : count;
    const others = at % 2 === 0 ? own : general;
    const { text } = others[(at * 7) % others.length];
    const said = asking(one, { text, embedding: embeddings.get(text)! }, toolVectors);
    // A third each: as it is asked; with the name of its tool ("order the usual"); and by somebody who never used anything and names
    // what is needed ("call my sister").
    const tool = one.query.tools[0].replace(/.*\./, '').replaceAll('_', ' ');
    const item = one.texts[one.relevant.indexOf(true)]
      .split(/[ :,]+/)
      .slice(0, NAMED_WORDS)
      .join(' ');
    const isNew = at % 3 === 2;
    const first = one.relevant.indexOf(true);
    const ask = [one.query.text, `${tool} ${one.query.text}`, `${tool} ${item}`][at % 3];
    const [embedding] = await embedder.embedQueries([ask]);
    const asked = asking(one, { text: ask, embedding }, toolVectors);
    for (const [{ candidates, moment }, isExplicit] of [
      [asked, false],
      [said, true],
    ] as const) {
      const known = isNew ? candidates.map((one) => ({ ...one, usage: new UsageSignals() })) : candidates;
      for (const [place, item] of ranker
        .rank(known, isNew ? { ...moment, recent: [] } : moment)
        .slice(0, FITTED)
        .entries()) {
        const isNeeded = !isExplicit && (isNew ? item.item === first : one.relevant[item.item]);
        rows.push({ x: numbersOf(item, moment), isNeeded, isExplicit, place });
      }
    }
  }
  return { rows, needed, queries: judged.length };
}

function numbersOf({ score, features }: RankedItem, { tools }: Judged['moment']): number[] {
  return [1, score, ...READ.map((name) => features[COLUMNS[name]] || 0), Math.max(0, ...tools.values())];
}

/** Weights of a logistic regression, by descent. */
export function fitted(rows: readonly Row[], width = rows[0].x.length): number[] {
  const weights = new Array<number>(width).fill(0);
  for (let step = 0; step < STEPS; step++) {
    const gradient = weights.map(() => 0);
    for (const { x, isNeeded } of rows) {
      const error = probabilityOf(weights, x) - (isNeeded ? 1 : 0);
      for (let i = 0; i < width; i++) gradient[i] += error * x[i];
    }
    for (let i = 0; i < width; i++) weights[i] -= (RATE * gradient[i]) / rows.length;
  }
  return weights;
}

function probabilityOf(weights: readonly number[], x: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i] * x[i];
  return 1 / (1 + Math.exp(-sum));
}

/** What is served at each threshold. */
export function servedAt(
  { rows, needed, queries }: Awaited<ReturnType<typeof calibrationRows>>,
  weights: readonly number[],
): Calibrated[] {
  return THRESHOLDS.map((threshold) => {
    const served = rows.filter(({ x, place }) => place < SERVED && probabilityOf(weights, x) >= threshold);
    const right = served.filter(({ isNeeded }) => isNeeded).length;
    const unneeded = served.filter(({ isExplicit }) => isExplicit);
    const disturbed = unneeded.filter(({ place }) => place === 0).length;
    return {
      threshold,
      precision: (100 * right) / (served.length - unneeded.length),
      recall: (100 * right) / needed,
      unneeded: unneeded.length / queries,
      disturbed: (100 * disturbed) / queries,
    };
  });
}

/** The lowest threshold at which a query that needs nothing gets few enough items. */
export function chooseThreshold(all: readonly Calibrated[]): Calibrated {
  return all.find(({ unneeded }) => unneeded <= MOST_SERVED) ?? all[all.length - 1];
}
