import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FusedScores } from '../../src/retrieval/retrieval-scores.ts';
import { ScoreColumns } from '../../src/retrieval/score-columns.ts';

describe('FusedScores', () => {
  it('proposes the same by cosines that are as far off as they can be', () => {
    const score = fc.double({ min: 0, max: 1, noNaN: true });
    // Which way the known cosine of a tool is off.
    const tool = fc.record({ words: score, cosine: score, off: fc.constantFrom(-1, 0, 1) });
    fc.assert(
      fc.property(
        fc.array(tool, { minLength: 1, maxLength: 60 }),
        fc.constantFrom(0.01, 0.1, 0.5),
        fc.integer({ min: 1, max: 10 }),
        (tools, margin, limit) => {
          const exact = Float32Array.from(tools, ({ cosine }) => cosine);
          const about = exact.map((cosine, slot) => cosine + tools[slot].off * margin);
          const slots = Int32Array.from(tools.keys());
          const proposedBy = (cosines: Float32Array, off: number) => {
            const vectors = {
              slots,
              minimum: Math.min(...exact),
              maximum: Math.max(...exact),
              similarity: (slot: number) => exact[slot],
              scanned: { cosines, margin: off },
            };
            const words = { scores: Float64Array.from(tools, (one) => one.words), maximum: 1 };
            return [...new FusedScores(words, vectors, new ScoreColumns()).proposals(slots, { limit })];
          };
          // In float32, the sum may be a little further.
          expect(proposedBy(about, margin + 1e-6)).toEqual(proposedBy(exact, 0));
        },
      ),
      { numRuns: 500, seed: 20_261_125 },
    );
  });
});
