import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Recall } from '../../bandit/policy.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { lexicalText } from '../../src/retrieval/document-text.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { ToolIndex, type ToolSearch } from '../../src/retrieval/tool-index.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { naiveBm25 } from './naive-bm25.ts';

const DIMENSIONS = 3;
const kernels = createTypescriptKernels();
let vectors: ToolVectors;
let index: ToolIndex;

beforeEach(() => {
  vectors = new ToolVectors(kernels, DIMENSIONS);
  index = new ToolIndex(kernels);
  index.reset(vectors);
});
afterEach(() => {
  index.free();
  vectors.free();
  expect(kernels.allocatedBytes).toBe(0);
});

const tool = (description: string) => ({ name: 'tool', description, inputSchema: {} });
const put = (slot: number, description: string, vector: Float32Array | null): void => {
  vectors.put(slot, vector);
  index.put({ slot, tool: tool(description) });
};
const unit = (...values: number[]): Float32Array => {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
};
const search = (request: Partial<ToolSearch> & { query?: string }) =>
  index.search({ embedding: null, tokens: tokenise(request.query ?? ''), limit: 50, ...request });

describe('ToolIndex.search', () => {
  it('takes other vectors, of other dimensions, for the same tools', () => {
    put(0, 'send a mail', unit(1, 0, 0));
    put(3, 'read a file', unit(0, 1, 0));
    const wider = new ToolVectors(kernels, 4);
    wider.put(0, unit(0, 0, 0, 1));
    wider.put(3, unit(1, 0, 0, 0));
    index.replaceVectors(wider);
    const found = index.search({ embedding: unit(1, 0, 0, 0.1), tokens: tokenise('file'), limit: 2 });
    expect([...found.candidates.slots]).toEqual([3, 0]);
    expect([...found.candidates.lexical]).toEqual([1, 0]);
    expect([...found.candidates.dense]).toEqual([1, 0]);
    index.replaceVectors(vectors);
    wider.free();
  });

  it('ranks by g = ½·BM25/max + ½·minmax(cosine), as a naive version does', () => {
    const words = fc.array(fc.constantFrom('mail', 'send', 'file', 'read', 'weather', 'bank'), {
      maxLength: 6,
    });
    const vector = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 }))
      .map((values) => unit(...values));
    const tools = fc.uniqueArray(fc.record({ slot: fc.nat(90), words, vector }), {
      selector: ({ slot }) => slot,
      maxLength: 20,
    });
    fc.assert(
      fc.property(tools, words, vector, fc.integer({ min: 0, max: 25 }), (all, query, embedding, limit) => {
        index.reset(vectors);
        for (const { slot, words, vector } of all) put(slot, words.join(' '), vector);
        const tokens = tokenise(query.join(' '));
        const { candidates } = index.search({ embedding, tokens, limit });

        const documents = all.map(({ slot, words }) => {
          return [slot, [...tokenise(lexicalText(tool(words.join(' '))))]] as const;
        });
        const bm25 = naiveBm25(new Map(documents), [...tokens]);
        const cosines = new Map(
          all.map(({ slot, vector }) => [slot, vector.reduce((s, v, i) => s + v * embedding[i], 0)]),
        );
        const [lowest, highest] = [Math.min(...cosines.values()), Math.max(...cosines.values())];
        const most = Math.max(0, ...bm25.values());
        const expected = all.map(({ slot }) => {
          const h = most > 0 ? bm25.get(slot)! / most : 0;
          const c = highest - lowest > 1e-6 ? (cosines.get(slot)! - lowest) / (highest - lowest) : 0;
          return { slot, h, c, g: 0.5 * h + 0.5 * c };
        });
        const kept = new Map(expected.map((one) => [one.slot, one]));
        expect(candidates.slots).toHaveLength(Math.min(limit, all.length));
        for (const [at, slot] of candidates.slots.entries()) {
          const { h, c, g } = kept.get(slot)!;
          expect(candidates.lexical[at]).toBeCloseTo(h, 6);
          if (highest - lowest > 1e-3) {
            expect(candidates.dense[at]).toBeCloseTo(c, 3);
            expect(candidates.base[at]).toBeCloseTo(g, 3);
          }
          expect(candidates.similarity[at]).toBeCloseTo(cosines.get(slot)!, 5);
          kept.delete(slot);
        }
        if (highest - lowest > 1e-3 && candidates.base.length > 0) {
          const worst = candidates.base[candidates.base.length - 1];
          for (const { g } of kept.values()) expect(g).toBeLessThanOrEqual(worst + 2e-3);
        }
        const descending = Array.from(candidates.base).sort((a, b) => b - a);
        expect(Array.from(candidates.base)).toEqual(descending);
      }),
      { numRuns: 150 },
    );
  });

  it('goes by words alone when there is no embedding', () => {
    put(0, 'reads a file', unit(1, 0, 0));
    put(1, 'sends a mail with a file', unit(0, 1, 0));
    const { candidates, bestSimilarity, bestBm25 } = search({ query: 'mail a file' });
    expect([...candidates.slots]).toEqual([1, 0]);
    expect(candidates.base).toEqual(candidates.lexical);
    expect([...candidates.dense, ...candidates.similarity, bestSimilarity]).toEqual([0, 0, 0, 0, 0]);
    expect(candidates.lexical[0]).toBe(1);
    expect(bestBm25).toBeGreaterThan(0);
  });

  it('goes by meaning when no word is known, and by slot when nothing is', () => {
    for (const slot of [2, 1, 0]) put(slot, 'reads', unit(1, slot, 0));
    expect([...search({ query: '😀', embedding: unit(1, 2, 0) }).candidates.slots]).toEqual([2, 1, 0]);
    const blind = search({ query: '😀', embedding: new Float32Array(DIMENSIONS) });
    expect([...blind.candidates.slots]).toEqual([0, 1, 2]);
    expect([...blind.candidates.base]).toEqual([0, 0, 0]);
  });

  it('has no candidates in an empty catalog', () => {
    const { candidates, origins, bestSimilarity } = search({ query: 'mail', embedding: unit(1, 0, 0) });
    expect(candidates.slots).toHaveLength(0);
    expect(origins).toEqual([]);
    expect(bestSimilarity).toBe(0);
  });

  it('refuses an embedding of another length', () => {
    expect(() => search({ embedding: new Float32Array(7) })).toThrow(/7 dimensions, the tools have 3/);
  });

  it('works without any vectors', () => {
    const wordsOnly = new ToolIndex(kernels);
    const none = new ToolVectors(kernels, 0);
    wordsOnly.reset(none);
    wordsOnly.put({ slot: 0, tool: tool('mail') });
    expect(
      wordsOnly.search({ embedding: null, tokens: tokenise('mail'), limit: 5 }).candidates.slots,
    ).toHaveLength(1);
    wordsOnly.free();
    none.free();
  });

  it('follows changes, removals and another embedder', () => {
    put(0, 'mail', unit(1, 0, 0));
    put(1, 'file', unit(0, 1, 0));
    put(0, 'weather', unit(0, 0, 1));
    expect(search({ query: 'mail' }).bestBm25).toBe(0);
    index.remove({ slot: 1 });
    expect([...search({ query: 'file', embedding: unit(0, 0, 1) }).candidates.slots]).toEqual([0]);
    const other = new ToolVectors(kernels, 2);
    index.reset(other);
    expect(index.size).toBe(0);
    other.put(5, unit(1, 0));
    index.put({ slot: 5, tool: tool('mail') });
    expect([...search({ query: 'mail', embedding: unit(1, 0) }).candidates.slots]).toEqual([5]);
    index.free();
    other.free();
  });
});

describe('the shortlist', () => {
  const NOTHING_TAUGHT = { slots: new Int32Array(0), values: new Float64Array(0) };
  const recallOf = (...votes: [slot: number, vote: number, nearest?: number][]): Recall => ({
    taught: NOTHING_TAUGHT,
    slots: Int32Array.from(votes, ([slot]) => slot),
    positives: new Float64Array(votes.length),
    trials: new Float64Array(votes.length),
    nearest: Float64Array.from(votes, ([, , nearest]) => nearest ?? 0),
    votes: Float64Array.from(votes, ([, vote]) => vote),
    cases: [],
  });

  beforeEach(() => {
    for (let slot = 0; slot < 80; slot++) put(slot, `mail ${'filler '.repeat(slot)}`, unit(1, slot, 0));
  });
  const mail = (request: Partial<ToolSearch>) => search({ query: 'mail', ...request });

  it('adds what memory puts forward, the best ten that retrieval did not find', () => {
    const votes = Array.from({ length: 30 }, (_, at) => [at + 45, 30 - at] as [number, number]);
    const { candidates, origins } = mail({ recall: recallOf(...votes, [79, 0]) });
    expect([...candidates.slots]).toEqual(Array.from({ length: 60 }, (_, at) => at));
    expect(origins.slice(0, 50).every((origin) => origin === 'retrieved')).toBe(true);
    expect(origins.slice(50).every((origin) => origin === 'remembered')).toBe(true);
  });

  it('adds the ten with the best taught vectors that neither retrieval nor memory found, ties by slot', () => {
    const taught = {
      slots: Int32Array.from([3, 79, 62, 60, 61, -1, 63, 500, 64, 65, 66, 67, 68, 69, 70, 71, 72]),
      values: Float64Array.from([9, 1, 2, 3, 3, 9, -1, 9, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
    };
    const { candidates, origins } = mail({ recall: { ...recallOf([60, 2]), taught } });
    const added = [60, 61, 62, 79, 72, 71, 70, 69, 68, 67, 66];
    expect([...candidates.slots.slice(50)]).toEqual(added.sort((a, b) => a - b));
    expect(origins.slice(50).every((origin) => origin === 'remembered')).toBe(true);
  });

  it('adds pins and leaves out what is excluded, pinned or not, without changing the scores', () => {
    const plain = mail({});
    const { candidates, origins } = mail({
      limit: 5,
      pin: [3, 70, 71, 400],
      exclude: new Set([0, 71, 60]),
      recall: recallOf([60, 2], [61, 1], [500, 9]),
    });
    expect([...candidates.slots]).toEqual([1, 2, 3, 4, 5, 61, 70]);
    expect(origins).toEqual([
      'retrieved',
      'retrieved',
      'pinned',
      'retrieved',
      'retrieved',
      'remembered',
      'pinned',
    ]);
    expect(candidates.base[0]).toBe(plain.candidates.base[1]);
  });

  it('ranks a tool by how it was used where that says more than its text, and no tool lower', () => {
    const plain = mail({});
    const base = new Map([...plain.candidates.slots].map((slot, at) => [slot, plain.candidates.base[at]]));
    const { candidates, origins } = mail({
      used: new Map([
        [75, 0.6],
        [3, 0.01],
        [500, 1],
      ]),
    });
    const at = candidates.slots.indexOf(75);
    expect([candidates.lexical[at], candidates.dense[at], candidates.base[at]]).toEqual([0.6, 0.6, 0.6]);
    expect(candidates.slots).not.toContain(500);
    for (const [i, slot] of candidates.slots.entries()) {
      expect(origins[i]).toBe(slot === 75 ? 'used' : 'retrieved');
      if (slot !== 75) expect(candidates.base[i]).toBe(base.get(slot));
    }
    expect(mail({ used: new Map([[75, 0.6]]), exclude: new Set([75]) }).candidates.slots).not.toContain(75);
    expect(mail({ used: new Map() })).toEqual(plain);
  });

  it('does not offer what was removed', () => {
    for (const slot of [0, 70, 71]) index.remove({ slot });
    const { candidates } = mail({ limit: 2, pin: [70], recall: recallOf([71, 5]) });
    expect([...candidates.slots]).toEqual([1, 2]);
  });

  it('gives the same result whatever came before', () => {
    const before = mail({ embedding: unit(1, 20, 0), limit: 20 });
    for (const slot of [7, 79, 3, 55]) index.remove({ slot });
    for (const slot of [55, 3, 79, 7]) put(slot, `mail ${'filler '.repeat(slot)}`, unit(1, slot, 0));
    expect(mail({ embedding: unit(1, 20, 0), limit: 20 })).toEqual(before);
  });
});
