import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import { CONTEXT_FEATURES, type ContextCandidate } from '../../../bandit/ranking/context-features.ts';
import { ContextRanker, rankBySignals } from '../../../bandit/ranking/context-ranker.ts';
import { SemanticMap } from '../../../bandit/ranking/semantic-map.ts';
import { EnsembleBuilder, TreesUnreadableError } from '../../../bandit/ranking/tree-ensemble.ts';
import { UsageSignals } from '../../../bandit/ranking/usage-signals.ts';
import { packageRoot } from '../../../config/package-root.ts';
import { bundledModelFolder, openModelFolder } from '../../../src/models/open-embedder.ts';

const DIMENSIONS = 16;
const NOW = 1_780_272_000;

function unit(key: string): Float32Array {
  const random = randomFor(key);
  const vector = Float32Array.from({ length: DIMENSIONS }, (_, at) => random.uniform(at) - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

describe('a semantic map', () => {
  it('leaves queries as they are before it learned, and afterwards finds what is relevant to queries that it never saw', () => {
    const map = SemanticMap.untrained(DIMENSIONS);
    expect(map.map(unit('q'))).toEqual(unit('q'));
    // Items that matter are those along −q in its first half: nothing that a cosine finds.
    const example = (key: string) => {
      const query = unit(`${key} query`);
      const items = Array.from({ length: 8 }, (_, at) => unit(`${key} ${at}`));
      const meant = (item: Float32Array): number =>
        item.reduce((sum, value, i) => sum + (i < 8 ? -value * query[i] : value * query[23 - i]), 0);
      const best = Math.max(...items.map(meant));
      return { query, items, relevant: items.map((item) => meant(item) === best) };
    };
    const hits = (): number =>
      Array.from({ length: 200 }, (_, at) => example(`test ${at}`)).filter(({ query, items, relevant }) => {
        const mapped = map.map(query);
        const products = items.map((item) => item.reduce((sum, value, i) => sum + value * mapped[i], 0));
        return relevant[products.indexOf(Math.max(...products))];
      }).length;
    expect(hits()).toBeLessThan(60);
    for (let at = 0; at < 3000; at++) map.learn(example(`training ${at}`));
    expect(hits()).toBeGreaterThan(110);
    expect(SemanticMap.of(map.save()).map(unit('q'))).toEqual(map.map(unit('q')));
  });

  it('learns nothing from a query to which nothing is relevant, and refuses other vectors', () => {
    const map = SemanticMap.untrained(DIMENSIONS);
    const before = map.save();
    map.learn({ query: unit('q'), items: [unit('a')], relevant: [false] });
    expect(map.save()).toEqual(before);
    expect(() => map.map(new Float32Array(3))).toThrow('vectors of 16 numbers, not of 3');
    expect(() => SemanticMap.of(new Float32Array(100))).toThrow('2·32·d finite numbers; these are 100');
    expect(() => SemanticMap.of(before.fill(Number.NaN))).toThrow('finite');
  });
});

function candidate(id: string, rest: Partial<ContextCandidate> = {}): ContextCandidate {
  const usage = new UsageSignals();
  return { id, store: 'mail', usage, put: NOW, at: Number.NaN, vector: null, words: 0, ...rest };
}

const moment = { query: null, now: NOW, place: null, tools: new Map<string, number>(), recent: [] };

/** One tree: items with words go before those without. */
function wordy(): ContextRanker {
  const builder = new EnsembleBuilder();
  const words = CONTEXT_FEATURES.indexOf('words');
  builder.add({
    features: [words],
    flags: [8],
    thresholds: [0.5],
    lefts: [~0],
    rights: [~1],
    leaves: [-1, 1],
  });
  return new ContextRanker(builder.build(CONTEXT_FEATURES), SemanticMap.untrained(DIMENSIONS), 'model é');
}

describe('a context ranker', () => {
  it('puts the best first, of equals the first one, with and without embeddings', () => {
    const all = [candidate('a'), candidate('b', { words: 3 }), candidate('c', { vector: unit('c') })];
    const ranked = [
      { item: 1, score: 1 },
      { item: 0, score: -1 },
      { item: 2, score: -1 },
    ];
    expect(wordy().rank(all, moment)).toMatchObject(ranked);
    expect(wordy().rank(all, { ...moment, query: unit('q') })).toMatchObject(ranked);
    expect(wordy().rank([], moment)).toEqual([]);
  });

  it('comes back from its bytes, and says what is wrong with others', () => {
    const bytes = wordy().encode();
    const copy = ContextRanker.decode(Buffer.from(bytes));
    expect(copy.encode()).toEqual(bytes);
    expect(copy.embedder).toBe('model é');
    expect(copy.map.map(unit('q'))).toEqual(unit('q'));
    const changed = (at: number, to: number): Uint8Array => bytes.with(at, to);
    expect(() => ContextRanker.decode(changed(0, 0))).toThrow('do not begin with BCTX');
    expect(() => ContextRanker.decode(changed(4, 7))).toThrow('version 7, and 1 is read here: train it anew');
    expect(() => ContextRanker.decode(changed(14, 200))).toThrow('cut short');
    expect(() => ContextRanker.decode(bytes.subarray(0, 9))).toThrow(TreesUnreadableError);
    expect(() => ContextRanker.decode(bytes.subarray(0, bytes.length - 1))).toThrow(TreesUnreadableError);
    const others = new EnsembleBuilder().build(['words']);
    expect(() => new ContextRanker(others, SemanticMap.untrained(4), '')).toThrow(
      'other features: train it anew',
    );
  });

  it('that ships is small, belongs to the bundled embedder, and prefers the habit of the hour', async () => {
    const bytes = readFileSync(join(packageRoot(), 'models', 'context-ranker', 'context-ranker.bin'));
    expect(bytes.length).toBeLessThan(200_000);
    const ranker = ContextRanker.decode(bytes);
    const embedder = await openModelFolder(bundledModelFolder());
    expect([ranker.embedder, ranker.map.dimensions]).toEqual([embedder.fingerprint, embedder.dimensions]);
    await embedder.close();
    const habit = new UsageSignals();
    for (let day = 1; day < 20; day++) {
      habit.note({ time: NOW - day * 86_400, place: 'home', tools: [], items: [], query: null });
    }
    const all = [...'abcdefgh'].map((id) =>
      candidate(id, { store: 'music', put: NOW - 9e5, ...(id === 'f' && { usage: habit }) }),
    );
    expect(ranker.rank(all, { ...moment, place: 'home' })[0].item).toBe(5);
  });
});

it('without a model the signals are joined by rank, and what nothing speaks for is left out', () => {
  const usage = new UsageSignals();
  usage.note({ time: NOW - 86_400, place: 'car', tools: [], items: [], query: unit('q') });
  const all = [candidate('a'), candidate('b', { words: 1 }), candidate('c', { usage })];
  const ranked = rankBySignals(all, { ...moment, query: unit('q'), place: 'car' });
  expect(ranked.map(({ item }) => item)).toEqual([2, 1]);
  expect(ranked[0].score).toBeCloseTo(5 / 61, 12);
  expect(rankBySignals(all, moment).map(({ item }) => item)).toEqual([2, 1]);
});
