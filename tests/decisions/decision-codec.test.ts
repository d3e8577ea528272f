import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DECISION_TAG, decodeDecision, encodeDecision } from '../../src/decisions/decision-codec.ts';
import { LostNamesError } from '../../src/decisions/decision-names.ts';
import { packColumns, unpackColumns } from '../../src/decisions/packed-columns.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { decision, sampleDecision } from './arbitrary-decision.ts';

function numbered(names: readonly string[]) {
  return { numberOf: (name: string) => names.indexOf(name), at: (number: number) => names[number] };
}

/** Columns of few lengths and few different values, so that some are alike. */
const nearlyAlike = fc
  .array(fc.constantFrom(0, -0, 1, Number.NaN, 0.1), { maxLength: 20 })
  .map((values) => Float32Array.from(values));

describe('the decision codec', () => {
  it('gives back every decision, bit for bit', () => {
    fc.assert(
      fc.property(decision, (original) => {
        // Compares prototypes and the bytes of arrays: −0 is not 0, and every NaN is itself.
        deepStrictEqual(decodeDecision(encodeDecision(original)), original);
        const names = numbered(original.candidates);
        deepStrictEqual(decodeDecision(encodeDecision(original, names), names), original);
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it('refuses a decision of another version by name', () => {
    const before = packDocument(DECISION_TAG, { id: 'default.a', embedded: false, versions: [] }, []);
    expect(() => decodeDecision(before)).toThrow(
      'a decision of version 1, and this Bandolier reads version 10',
    );
  });

  it('refuses a decision whose numbers stand for other names now, or for none', () => {
    fc.assert(
      fc.property(decision, fc.nat(), fc.option(fc.string()), (original, at, name) => {
        const { candidates } = original;
        fc.pre(candidates.length > 0 && new Set(candidates).size === candidates.length);
        const bytes = encodeDecision(original, numbered(candidates));
        const others: string[] = candidates.slice();
        if (name === null) others.pop();
        else others[at % others.length] = name;
        fc.pre(others.join('/') !== candidates.join('/'));
        expect(() => decodeDecision(bytes, numbered(others))).toThrow(LostNamesError);
      }),
      { seed: 8, numRuns: 300 },
    );
  });

  it('writes a column that is just like another one, or nearly constant, in few bytes', () => {
    fc.assert(
      fc.property(fc.array(nearlyAlike, { maxLength: 30 }), (columns) => {
        deepStrictEqual(unpackColumns(packColumns(columns)), columns);
      }),
      { seed: 7, numRuns: 300 },
    );
    const some = Float32Array.from({ length: 60 }, (_, i) => Math.sin(i));
    const rare = new Float32Array(60).fill(Number.NaN, 0, 2);
    const constant = new Float32Array(60).fill(-0);
    expect(packColumns([some, some.slice(), rare, constant]).length).toBe(61 + 1 + 6 + 4);
  });

  it('needs less than 6 KB for a usual decision whose candidates are numbered', () => {
    const decision = sampleDecision('default.0123456789', 1, 60);
    expect(encodeDecision(decision, numbered(decision.candidates)).length).toBeLessThan(6000);
  });
});
