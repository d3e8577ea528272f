import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { SearchedText } from '../../src/retrieval/searched-texts.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { ToolIndex, type ToolSearch } from '../../src/retrieval/tool-index.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const WORDS = 'mail send file read weather bank hotel book'.split(' ');
const kernels = createTypescriptKernels();
let vectors: ToolVectors;
let index: ToolIndex;

beforeEach(() => {
  vectors = new ToolVectors(kernels, 3);
  index = new ToolIndex(kernels);
  index.reset(vectors);
});
afterEach(() => {
  index.free();
  vectors.free();
  expect(kernels.allocatedBytes).toBe(0);
});

const put = (slot: number, description: string, vector: Float32Array | null = null): void => {
  vectors.put(slot, vector);
  index.put({ slot, tool: { name: 'tool', description, inputSchema: {} } });
};
const searched = (text: string, embedding: Float32Array | null = null): SearchedText => ({
  tokens: tokenise(text),
  embedding,
});

/** h, c and g of every tool for one text, by slot. */
function scoresOf(text: SearchedText): Map<number, { h: number; c: number; g: number }> {
  const { candidates } = index.search({ ...text, limit: 100 });
  return new Map(
    Array.from(candidates.slots, (slot, at) => [
      slot,
      { h: candidates.lexical[at], c: candidates.dense[at], g: candidates.base[at] },
    ]),
  );
}

const unit = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 }))
  .map((values) => Float32Array.from(values, (value) => value / Math.hypot(...values)));
const text = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 })
  .map((words) => words.join(' '));
const tools = fc.array(fc.record({ text, vector: unit }), { minLength: 1, maxLength: 12 });
const embedded = fc.record({ text, vector: unit }).map(({ text, vector }) => searched(text, vector));
const wordsOnly = text.map((words) => searched(words));

describe('a search for a query of several parts', () => {
  it.each([
    ['with an embedder', embedded],
    ['by words alone', wordsOnly],
  ])('gives each tool the scores of the part that says the most for it, %s', (_, query) => {
    fc.assert(
      fc.property(tools, query, fc.array(query, { minLength: 1, maxLength: 4 }), (all, whole, parts) => {
        index.reset(vectors);
        for (const [slot, tool] of all.entries()) put(slot, tool.text, tool.vector);
        const alone = scoresOf(whole);
        const perPart = parts.map((part) => ({
          weight: 0.7 * Math.min(1, part.tokens.length / 6),
          scores: scoresOf(part),
        }));
        const { candidates } = index.search({ ...whole, parts, limit: 100 });
        expect([...candidates.slots].sort()).toEqual([...alone.keys()].sort());
        for (const [at, slot] of candidates.slots.entries()) {
          const { h, c, g } = alone.get(slot)!;
          const offers = perPart.map(({ weight, scores }) => {
            const part = scores.get(slot)!;
            return { h: h + weight * (part.h - h), c: c + weight * (part.c - c) };
          });
          const fuse = (one: { h: number; c: number }) =>
            whole.embedding === null ? one.h : (one.h + one.c) / 2;
          const best = Math.max(g, ...offers.map(fuse));
          expect(candidates.base[at]).toBeCloseTo(best, 6);
          // Exactly: day 0 depends on it.
          const [lexical, dense] = [candidates.lexical[at], candidates.dense[at]];
          expect(candidates.base[at]).toBe(whole.embedding === null ? lexical : 0.5 * lexical + 0.5 * dense);
          expect(candidates.base[at]).toBeGreaterThanOrEqual(g);
          for (const value of [lexical, dense]) {
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(1 + 1e-6);
          }
        }
        expect([...candidates.base]).toEqual([...candidates.base].sort((a, b) => b - a));
      }),
      { numRuns: 100 },
    );
  });

  it('has the best of all and of each part in turns, exactly', () => {
    fc.assert(
      fc.property(
        tools,
        embedded,
        fc.array(embedded, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        (all, whole, parts, limit) => {
          index.reset(vectors);
          for (const [slot, tool] of all.entries()) put(slot, tool.text, tool.vector);
          const alone = scoresOf(whole);
          const slots = [...alone.keys()];
          const best = new Map(slots.map((slot) => [slot, alone.get(slot)!.g]));
          const says = parts.map((part) => {
            const weight = 0.7 * Math.min(1, part.tokens.length / 6);
            const scores = scoresOf(part);
            return new Map(
              slots.map((slot): [number, number] => {
                const { h, c } = alone.get(slot)!;
                const own = scores.get(slot)!;
                const lexical = h + weight * (Math.fround(own.h) - h);
                const dense = c + weight * (Math.fround(own.c) - c);
                return [slot, 0.5 * lexical + 0.5 * dense];
              }),
            );
          });
          for (const said of says) {
            for (const [slot, g] of said) best.set(slot, Math.max(g, best.get(slot)!));
          }
          const lists = [best, ...says].map((scores) =>
            slots.toSorted((a, b) => scores.get(b)! - scores.get(a)! || a - b),
          );
          const chosen = new Set<number>();
          for (let rank = 0; rank < slots.length; rank++) {
            for (const list of lists) if (chosen.size < limit) chosen.add(list[rank]);
          }
          const { candidates } = index.search({ ...whole, parts, limit });
          const expected = [...chosen].sort((a, b) => best.get(b)! - best.get(a)! || a - b);
          expect([...candidates.slots]).toEqual(expected);
          expect([...candidates.base]).toEqual(expected.map((slot) => best.get(slot)));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps the similarity of the whole query, which is what is learned with', () => {
    put(0, 'mail', Float32Array.of(1, 0, 0));
    put(1, 'hotel', Float32Array.of(0, 1, 0));
    const whole = searched('mail', Float32Array.of(0.6, 0.8, 0));
    const parts = [searched('hotel', Float32Array.of(0, 0, 1))];
    const { candidates } = index.search({ ...whole, parts, limit: 5 });
    const similarity = (slot: number) => candidates.similarity[candidates.slots.indexOf(slot)];
    expect(similarity(0)).toBeCloseTo(0.6, 6);
    expect(similarity(1)).toBeCloseTo(0.8, 6);
  });

  it('has the best tools of every part among few candidates', () => {
    for (let slot = 0; slot < 30; slot++) put(slot, `send a mail ${'mail '.repeat(slot % 4)}`);
    put(30, 'book a hotel with breakfast');
    put(31, 'weather of tomorrow');
    const query = 'send a mail and mail it again by mail, book a hotel with breakfast, weather of tomorrow';
    const parts = [
      'send a mail and mail it again by mail',
      'book a hotel with breakfast',
      'weather of tomorrow',
    ];
    const request: ToolSearch = { ...searched(query), parts: parts.map((part) => searched(part)), limit: 4 };
    const { candidates } = index.search(request);
    expect(candidates.slots).toHaveLength(4);
    expect([...candidates.slots]).toEqual(expect.arrayContaining([30, 31]));
  });

  it('never has an excluded tool, and has pinned ones with their scores', () => {
    put(0, 'book a hotel');
    put(1, 'send a mail');
    put(2, 'read the weather');
    const parts = [searched('book a hotel'), searched('send a mail')];
    const more = { exclude: new Set([0]), pin: [2] };
    const { candidates, origins } = index.search({ ...searched('hotel and mail'), parts, limit: 1, ...more });
    expect([...candidates.slots]).toEqual([1, 2]);
    expect(origins).toEqual(['retrieved', 'pinned']);
    expect(candidates.base[1]).toBe(0);
  });

  it('refuses a part with an embedding of another length', () => {
    const parts = [searched('mail', new Float32Array(7))];
    expect(() => index.search({ ...searched('mail', new Float32Array(3)), parts, limit: 1 })).toThrow(
      /7 dimensions/,
    );
  });
});
