import { expect, it } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { product } from '../../bandit/ranking/semantic-map.ts';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { type ContextQuery, contextCandidates, type Moment } from '../../src/context/context-candidates.ts';
import type { StoredItem } from '../../src/context/item.ts';
import { ItemCosines } from '../../src/context/item-cosines.ts';
import { ItemIndex } from '../../src/context/item-index.ts';
import { noVectors, vectorsOf } from '../../src/context/item-record.ts';
import type { LoadedContext } from '../../src/context/user-contexts.ts';
import { localSeconds, UserSignals } from '../../src/context/user-signals.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { hasFastProperties } from '../fast-properties.ts';

const cosines = new ItemCosines(await loadKernels());

const EMBEDDER = { fingerprint: 'test', dimensions: 6 };
const NOW = Date.UTC(2026, 10, 23, 9);
const DAY = 86_400_000;
const WORDS = ['pizza', 'dentist', 'sister', 'running', 'contract', 'holiday', 'garden', 'invoice'];

/** A user with so many items, a third of them used, some with a time, some without a vector. */
function userOf(seed: string, size: number): { user: LoadedContext; query: ContextQuery; moment: Moment } {
  const random = randomFor(seed);
  let draws = 0;
  const draw = (): number => random.uniform(draws++);
  const unit = (): Float32Array => {
    const vector = Float32Array.from({ length: EMBEDDER.dimensions }, () => draw() - 0.5);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const word = (): string => WORDS[Math.floor(draw() * WORDS.length)];
  const items = Array.from(
    { length: size },
    (_, row): StoredItem => ({
      ...{ id: `item ${row}`, text: `${word()} ${word()} ${row}`, store: `store ${row % 4}` },
      ...{ kind: 'note', putAt: NOW - Math.floor(draw() * 100) * DAY },
      ...(draw() < 0.3 ? { at: NOW + Math.floor((draw() - 0.5) * 40) * DAY } : {}),
    }),
  );
  const made = new Map(items.filter(() => draw() < 0.9).map(({ text }) => [text, unit()]));
  const signals = new UserSignals();
  for (let use = 0; use < size / 3; use++) {
    const at = NOW - Math.floor(draw() * 60 * 24) * 3_600_000;
    const used = [0, 1].map(() => `item ${Math.floor(draw() * size)}`);
    const query = { fingerprint: EMBEDDER.fingerprint, embedding: unit() };
    signals.add({ key: `${use}`, items: used, tool: 'tool', place: word(), at, query }, NOW);
  }
  const vectors = vectorsOf(items, EMBEDDER, made, { items: [], vectors: noVectors(0) });
  const user = {
    items,
    vectors,
    signals,
    index: new ItemIndex({ items, vectors }, cosines),
  } as unknown as LoadedContext;
  return {
    user,
    query: { embedding: unit(), fingerprint: EMBEDDER.fingerprint, tokens: tokenise(`${word()} ${word()}`) },
    moment: { now: NOW, utcOffsetMinutes: 90, place: 'home', tools: new Map([['tool', 1]]) },
  };
}

/** The same by sorting everything. */
function naiveRows(
  { items, vectors, signals, index }: LoadedContext,
  query: ContextQuery,
  now: number,
): number[] {
  const all = [...items.keys()];
  if (all.length <= 100) return all;
  const hour = Math.floor(localSeconds(now, 90) / 3600) % 24;
  const largest = Math.max(...query.embedding!.map(Math.abs));
  const rough = Array.from(query.embedding!, (value) => Math.round((value / largest) * 127));
  const words = index.wordScores(query.tokens).slice();
  const usage = (row: number): UsageSignals | undefined => signals.of(items[row].id);
  const { dimensions, values, scales } = vectors;
  const lists: ((row: number) => number)[] = [
    (row) => words[row],
    (row) => usage(row)?.uses ?? 0,
    (row) => usage(row)?.hours[hour] ?? 0,
    (row) => usage(row)?.lastUsed ?? 0,
    (row) => (items[row].at === undefined ? 0 : 1 / (1 + Math.abs(items[row].at - now))),
    (row) => rough.reduce((sum, value, i) => sum + value * values[row * dimensions + i], 0) * scales[row],
  ];
  const sums = all.map(() => 0);
  for (const value of lists) {
    const order = all.filter((row) => value(row) > 0).sort((a, b) => value(b) - value(a) || a - b);
    for (const [place, row] of order.slice(0, 200).entries()) sums[row] += 1 / (60 + place + 1);
  }
  const order = all.filter((row) => sums[row] > 0).sort((a, b) => sums[b] - sums[a] || a - b);
  return order.slice(0, 100).sort((a, b) => a - b);
}

it.each([40, 100, 101, 350, 900])(
  'are those that sorting everything finds, bit for bit, among %i items',
  (size) => {
    for (const seed of ['a', 'b', 'c']) {
      const { user, query, moment } = userOf(`${seed} ${size}`, size);
      const { rows, candidates, moment: asked } = contextCandidates(user, query, moment);
      expect([...rows]).toEqual(naiveRows(user, query, NOW));
      const words = user.index.wordScores(query.tokens);
      const { dimensions, values, scales } = user.vectors;
      const naive = Array.from(rows, (row) => {
        const { id, store, at, putAt } = user.items[row];
        const vector = values.subarray(row * dimensions, (row + 1) * dimensions);
        return {
          ...{ id, store, words: words[row] },
          at: at === undefined ? Number.NaN : localSeconds(at, 90),
          put: localSeconds(at !== undefined && at <= NOW ? at : putAt, 90),
          usage: user.signals.of(id) ?? new UsageSignals(),
          vector: scales[row] > 0 ? Float32Array.from(vector, (value) => scales[row] * value) : null,
        };
      });
      expect(candidates.map((one) => ({ ...one, vector: one.vector }))).toEqual(naive);
      const products = naive.map(({ vector }) => vector && product(query.embedding!, vector));
      expect([...asked.products!(query.embedding!)]).toEqual(products.map((one) => one ?? Number.NaN));
      expect(asked).toMatchObject({ query: query.embedding, now: localSeconds(NOW, 90), place: 'home' });
    }
  },
);

it('have properties that are read by their places', () => {
  const { user, query, moment } = userOf('places', 40);
  const { candidates } = contextCandidates(user, query, moment);
  expect(candidates).toHaveLength(40);
  for (const candidate of candidates) expect(hasFastProperties(candidate)).toBe(true);
});

it('know of uses that were added since they were compared last', () => {
  const { user, query, moment } = userOf('used since', 40);
  const usesOf = (): number[] =>
    contextCandidates(user, query, moment).candidates.map(({ usage }) => usage.uses);
  const unused = usesOf().indexOf(0);
  const use = { key: 'since', items: [`item ${unused}`, 'item 0'], at: NOW };
  expect((user.signals as UserSignals).add(use, NOW)).toBe(true);
  expect(usesOf()[unused]).toBe(1);
});

it('have no vectors where another embedder made them, so that none gets among those of the query', () => {
  const { user, query, moment } = userOf('other embedder', 40);
  for (const other of [
    { ...query, fingerprint: 'another', embedding: new Float32Array(8).fill(0.5) },
    { ...query, fingerprint: 'another' },
  ]) {
    const { candidates, moment: asked } = contextCandidates(user, other, moment);
    expect(asked.query).toBeNull();
    expect(candidates.filter(({ vector }) => vector !== null)).toEqual([]);
  }
});
