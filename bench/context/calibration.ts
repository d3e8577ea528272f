import { type ContextRanker, type RankedItem, rankBySignals } from '../../bandit/ranking/context-ranker.ts';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { type ItemScale, itemValues, servedItems } from '../../src/context/item-probability.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { readExplicit, readTools } from './facets.ts';
import { asking, judge } from './judged.ts';
import type { Persona } from './world.ts';

/** Items of a query that are served at most. */
const SERVED = 3;
const THRESHOLDS = [0.1, 0.15, 0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5];
/** How many queries that need nothing may get an item, in percent, on the validation part. */
const MOST_DISTURBED = { cosine: 30, words: 10 };
/** Of an item, that somebody says who names it. */
const NAMED_WORDS = 3;
const [STEPS, RIDGE] = [25, 1e-3];

/** A query with its items as they are ranked. */
export interface RankedQuery {
  readonly byModel: readonly RankedItem[];
  readonly bySignals: readonly RankedItem[];
  /** Items that it needs. */
  readonly needed: ReadonlySet<number>;
  /** It says all that it wants, and names a tool of the user or none; null: it needs items. */
  readonly explicit: 'a tool' | 'no tool' | null;
}

export interface Calibrated {
  readonly threshold: number;
  readonly precision: number;
  readonly recall: number;
  /** Items that are served for a query that needs nothing. */
  readonly unneeded: number;
  /** Queries that need nothing and get any, in percent: all, those that name a tool of the user, and those that name none. */
  readonly disturbed: readonly [number, number, number];
  /** Of those, such that get one that is more likely than not. */
  readonly misled: number;
}

/** Queries that need items, and as many of the same users that say all that they want. */
export async function rankedQueries(
  personas: readonly Persona[],
  half: 0 | 1,
  ranker: ContextRanker,
  embedder: Embedder,
): Promise<RankedQuery[]> {
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
  const queries: RankedQuery[] = [];
  const judged = await judge(personas, embedder);
  for (const [at, one] of judged.entries()) {
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
    const relevant = one.relevant.flatMap((isRelevant, slot) => (isRelevant ? [slot] : []));
    for (const [{ candidates, moment }, explicit] of [
      [asked, null],
      [said, at % 2 === 0 ? 'a tool' : 'no tool'],
    ] as const) {
      const known = isNew ? candidates.map((one) => ({ ...one, usage: new UsageSignals() })) : candidates;
      const now = isNew ? { ...moment, recent: [] } : moment;
      queries.push({
        byModel: ranker.rank(known, now),
        bySignals: rankBySignals(known, now),
        needed: new Set(explicit === null ? (isNew ? [first] : relevant) : []),
        explicit,
      });
    }
  }
  return queries;
}

export const rankedBy = (one: RankedQuery, speaks: ItemScale['speaks']): readonly RankedItem[] =>
  speaks === 'cosine' ? one.byModel : one.bySignals;

/** Fits both probabilities of a scale; those of its weights that are 0 stay so. */
export function fitted(queries: readonly RankedQuery[], scale: ItemScale): ItemScale {
  const { speaks } = scale;
  const made = queries.map((one) => ({ one, ...itemValues(rankedBy(one, speaks), speaks) }));
  const [none, evidence] = logistic(
    made.map(({ any, one }) => ({ x: [1, any], isTrue: one.explicit === null })),
  );
  const names = ['at', 'share', 'words', 'cosine', 'asked', 'tools'] as const;
  const free = names.flatMap((name, column) => (scale[name] === 0 ? [] : [column]));
  const weights = logistic(
    made
      .filter(({ one }) => one.explicit === null)
      .flatMap(({ one, values }) =>
        rankedBy(one, speaks).map(({ item }, row) => ({
          x: free.map((column) => values[row][column]),
          isTrue: one.needed.has(item),
        })),
      ),
  );
  return {
    ...scale,
    none,
    evidence,
    ...Object.fromEntries(free.map((column, i) => [names[column], weights[i]])),
  };
}

/** Weights of a logistic regression, by Newton's method. */
function logistic(rows: readonly { readonly x: readonly number[]; readonly isTrue: boolean }[]): number[] {
  const d = rows[0].x.length;
  const weights = new Array<number>(d).fill(0);
  for (let step = 0; step < STEPS; step++) {
    const system = weights.map((weight, i) =>
      weights.map((_, j) => (i === j ? RIDGE : 0)).concat(RIDGE * weight),
    );
    for (const { x, isTrue } of rows) {
      const p = 1 / (1 + Math.exp(-x.reduce((sum, value, i) => sum + weights[i] * value, 0)));
      for (let i = 0; i < d; i++) {
        system[i][d] += (p - (isTrue ? 1 : 0)) * x[i];
        for (let j = 0; j < d; j++) system[i][j] += p * (1 - p) * x[i] * x[j];
      }
    }
    for (const [i, change] of solved(system).entries()) weights[i] -= change;
  }
  return weights;
}

/** Solves a positive definite system; each row ends with its right side. */
function solved(system: number[][]): number[] {
  const d = system.length;
  for (let i = 0; i < d; i++) {
    for (let row = 0; row < d; row++) {
      if (row === i) continue;
      const factor = system[row][i] / system[i][i];
      for (let j = i; j <= d; j++) system[row][j] -= factor * system[i][j];
    }
  }
  return system.map((row, i) => row[d] / row[i]);
}

/** What is served at each threshold. */
export function servedAt(queries: readonly RankedQuery[], scale: ItemScale): Calibrated[] {
  return THRESHOLDS.map((threshold) =>
    measured(
      queries,
      (one) => servedItems(rankedBy(one, scale.speaks), { ...scale, threshold }, SERVED),
      threshold,
    ),
  );
}

export type Serving = (
  one: RankedQuery,
) => readonly { readonly item: number; readonly probability: number }[];

export function measured(queries: readonly RankedQuery[], serve: Serving, threshold: number): Calibrated {
  const all = queries.map((one) => ({ ...one, served: serve(one) }));
  const implicit = all.filter(({ explicit }) => explicit === null);
  const explicit = all.filter(({ explicit }) => explicit !== null);
  const count = (some: typeof all): number => some.reduce((sum, { served }) => sum + served.length, 0);
  const right = implicit.reduce(
    (sum, { served, needed }) => sum + served.filter(({ item }) => needed.has(item)).length,
    0,
  );
  const disturbed = (some: typeof all): number =>
    (100 * some.filter(({ served }) => served.length > 0).length) / some.length;
  const isMisled = ({ served }: (typeof all)[number]) => served.some(({ probability }) => probability >= 0.5);
  return {
    threshold,
    precision: (100 * right) / count(implicit),
    recall: (100 * right) / implicit.reduce((sum, { needed }) => sum + needed.size, 0),
    unneeded: count(explicit) / explicit.length,
    disturbed: [
      disturbed(explicit),
      disturbed(explicit.filter((one) => one.explicit === 'a tool')),
      disturbed(explicit.filter((one) => one.explicit === 'no tool')),
    ],
    misled: (100 * explicit.filter(isMisled).length) / explicit.length,
  };
}

/** The lowest threshold at which few enough of the queries that need nothing get an item. */
export function chooseThreshold(all: readonly Calibrated[], speaks: ItemScale['speaks']): Calibrated {
  return all.find(({ disturbed }) => disturbed[0] <= MOST_DISTURBED[speaks]) ?? all[all.length - 1];
}
