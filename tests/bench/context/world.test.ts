import { describe, expect, it } from 'vitest';
import { SemanticMap } from '../../../bandit/ranking/semantic-map.ts';
import { readFacets, readTools, STORES } from '../../../bench/context/facets.ts';
import { featuresOf, judge } from '../../../bench/context/judged.ts';
import {
  PERSONAS,
  type Persona,
  simulatedWorld,
  TEST_QUERIES,
  TRAINING_QUERIES,
} from '../../../bench/context/world.ts';
import { bundledModelFolder, openModelFolder } from '../../../src/models/open-embedder.ts';

const world = simulatedWorld(1);
const all = [...world.training, ...world.test];

describe('the simulated users', () => {
  it('are as many as in the paper, with as many queries, items per application (Table 4) and APIs (Table 5)', () => {
    expect(all).toHaveLength(PERSONAS);
    expect(PERSONAS).toBe(791);
    const queries = (some: readonly Persona[]): number => some.flatMap((one) => one.queries).length;
    expect([queries(world.training), queries(world.test)]).toEqual([TRAINING_QUERIES, TEST_QUERIES]);
    for (const [store, mean] of Object.entries(STORES)) {
      const counts = all.map(({ items }) => items.filter((item) => item.store === store).length);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(2);
      expect(Math.max(...counts)).toBeLessThanOrEqual(10);
      expect(Math.abs(counts.reduce((sum, one) => sum + one, 0) / PERSONAS - mean)).toBeLessThan(0.15);
    }
    const apis = readTools().map(({ name }) => name.split('.')[0]);
    const perStore = Object.fromEntries(
      Object.keys(STORES).map((store) => [store, apis.filter((api) => api === store).length]),
    );
    expect(perStore).toEqual({
      mail: 8,
      calendar: 7,
      google: 10,
      notes: 9,
      music: 11,
      reminders: 6,
      phone: 8,
    });
  });

  it('follow from the seed', () => {
    expect(simulatedWorld(1).test[7]).toEqual(world.test[7]);
    expect(simulatedWorld(2).test[7]).not.toEqual(world.test[7]);
  });

  it('ask for items that they have, with tools and arguments that exist, after all that they did before', () => {
    const tools = new Map(readTools().map((tool) => [tool.name, tool]));
    for (const { items, past, queries } of all) {
      const ids = new Set(items.map(({ id }) => id));
      const last = Math.max(...past.map(({ time }) => time));
      for (const { relevant, tools: right, args, now, text } of queries) {
        expect(relevant.length).toBeGreaterThan(0);
        expect(relevant.every((id) => ids.has(id))).toBe(true);
        expect(right.every((name) => tools.has(name))).toBe(true);
        expect(Object.values(args).join()).not.toMatch(/[{}]/);
        expect(text).not.toMatch(/[{}]/);
        expect(now).toBeGreaterThan(last);
      }
      expect(items.every(({ put, text }) => put <= queries[0].now && !/[{}]/.test(text))).toBe(true);
    }
    for (const { asks, items } of readFacets()) {
      for (const { needs } of asks) expect(needs.every((at) => items[at] !== undefined)).toBe(true);
    }
  });

  it('give a ranker nothing of the answer: other labels, tools and arguments leave every feature as it is', async () => {
    const embedder = await openModelFolder(bundledModelFolder());
    const some = world.test.slice(0, 3);
    const blind = some.map(({ items, past, queries }) => ({
      items,
      past,
      queries: queries.map((query) => ({ ...query, relevant: [], tools: [], args: {}, thought: '' })),
    }));
    const map = SemanticMap.untrained(embedder.dimensions);
    const [seen, unseen] = [await judge(some, embedder), await judge(blind, embedder)];
    await embedder.close();
    expect(seen.map((one) => featuresOf(one, map))).toEqual(unseen.map((one) => featuresOf(one, map)));
  });
});
