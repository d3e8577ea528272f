import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { SearchedTexts } from '../../src/retrieval/searched-texts.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { BOTH } from '../bandit/kernels/both-kernels.ts';
import { vectorIndexContract } from '../contracts/vector-index.contract.ts';

const WAYS = { 'by one scan': Infinity, 'by codes first': 0 };

for (const [name, kernels] of BOTH) {
  for (const [way, roughFrom] of Object.entries(WAYS)) {
    vectorIndexContract(`ExactIndex on ${name} kernels, ${way}`, kernels(), {
      create: (own, vectors) => new ExactIndex(own, vectors, { roughFrom }),
      exact: true,
    });
  }
}

const DIMENSIONS = 20;
const vector = fc
  .array(fc.integer({ min: -50, max: 50 }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .map((values) => Float32Array.from(values, (value) => value / (Math.hypot(...values) || 1)));
const text = fc.array(fc.constantFrom('mail', 'send', 'file', 'read', 'bank'), { maxLength: 4 });

describe.each(BOTH)('A search with codes first, on %s kernels', (_, create) => {
  it('finds the same tools with the same scores, to the last bit', () => {
    const kernels = create();
    const tool = fc.record({ words: text, vector });
    const tools = fc.array(tool, { minLength: 1, maxLength: 60 });
    const limit = fc.integer({ min: 0, max: 12 });
    const gone = fc.array(fc.nat(70), { maxLength: 8 });
    const parts = fc.array(tool, { maxLength: 4 });
    const textOf = ({
      words,
      vector: embedding,
    }: {
      readonly words: string[];
      readonly vector: Float32Array;
    }) => ({
      tokens: tokenise(words.join(' ')),
      embedding,
    });
    fc.assert(
      fc.property(tools, tool, parts, limit, gone, gone, (all, query, others, most, removed, exclude) => {
        const [scanned, coded] = Object.values(WAYS).map((roughFrom) => {
          const vectors = new ToolVectors(kernels, DIMENSIONS);
          const index = new ToolIndex(kernels, (own, table) => new ExactIndex(own, table, { roughFrom }));
          index.reset(vectors);
          for (const [slot, { words, vector: own }] of all.entries()) {
            vectors.put(slot, own);
            index.put({ slot, tool: { name: `t${slot}`, description: words.join(' '), inputSchema: {} } });
            // A search in between, so that codes exist while tools still come and go.
            if (slot === 20) index.search({ embedding: query.vector, tokens: new Uint32Array(), limit: 1 });
          }
          for (const slot of removed) if (slot < all.length) index.remove({ slot });
          const searched = new SearchedTexts();
          const request = { ...textOf(query), limit: most, exclude: new Set(exclude), pin: [0] };
          const wanted = { ...request, parts: others.map(textOf) };
          const recalled = Array.from(all.keys()).filter((slot) => slot % 3 === 1);
          const recall = {
            taught: { slots: new Int32Array(0), values: new Float64Array(0) },
            slots: Int32Array.from(recalled),
            votes: Float64Array.from(recalled, (slot) => 1 + (slot % 4)),
            nearest: new Float64Array(recalled.length),
            positives: new Float64Array(recalled.length),
            trials: new Float64Array(recalled.length),
            cases: [],
          };
          const used = new Map(exclude.filter((slot) => slot < all.length).map((slot) => [slot, slot / 70]));
          const found = [
            index.search(request),
            index.search({ ...wanted, recall }),
            index.search({ ...request, used }),
            index.search({ ...wanted, searched }),
            // What was found before is used again.
            index.search({ ...wanted, used, recall, searched }),
          ];
          expect(index.search({ ...wanted, used, recall })).toEqual(found[4]);
          index.free();
          vectors.free();
          return found;
        });
        expect(coded).toEqual(scanned);
      }),
      { seed: 14, numRuns: 200 },
    );
    expect(kernels.allocatedBytes).toBe(0);
  });
});
