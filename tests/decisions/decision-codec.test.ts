import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DECISION_TAG, decodeDecision, encodeDecision } from '../../src/decisions/decision-codec.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { decision, sampleDecision } from './arbitrary-decision.ts';

describe('the decision codec', () => {
  it('gives back every decision, bit for bit', () => {
    fc.assert(
      fc.property(decision, (original) => {
        // Compares prototypes and the bytes of arrays: −0 is not 0, and every NaN is itself.
        deepStrictEqual(decodeDecision(encodeDecision(original)), original);
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it('refuses a decision of another version by name', () => {
    const before = packDocument(DECISION_TAG, { id: 'default.a', embedded: false, versions: [] }, []);
    expect(() => decodeDecision(before)).toThrow(
      'a decision of version 1, and this Bandolier reads version 3',
    );
  });

  it('needs less than 8 KB for a usual decision', () => {
    expect(encodeDecision(sampleDecision('default.0123456789', 1, 60)).length).toBeLessThan(8000);
  });
});
