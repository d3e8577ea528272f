import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeLearner, encodeLearner, LearnerUnreadableError } from '../../bandit/learner-codec.ts';
import type { LearnerState } from '../../bandit/policy.ts';

const name = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => text !== '__proto__');

const state: fc.Arbitrary<LearnerState> = fc.record({
  policy: name,
  numbers: fc.dictionary(name, fc.double()),
  arrays: fc.dictionary(
    name,
    fc.oneof(fc.float64Array(), fc.float32Array(), fc.int32Array(), fc.uint32Array()),
    { maxKeys: 6 },
  ),
});

describe('the learner codec', () => {
  it('gives back the same bits, −0, NaN and infinities included', () => {
    fc.assert(
      fc.property(state, (before) => {
        const after = decodeLearner(encodeLearner(before, crc32), crc32);
        expect(after.policy).toBe(before.policy);
        for (const [key, value] of Object.entries(before.numbers)) expect(after.numbers[key]).toBe(value);
        expect(Object.keys(after.arrays)).toEqual(Object.keys(before.arrays));
        for (const [key, array] of Object.entries(before.arrays)) expect(after.arrays[key]).toEqual(array);
      }),
    );
  });

  it('notices every flipped bit and every missing byte', () => {
    fc.assert(
      fc.property(state, fc.nat(), fc.integer({ min: 0, max: 7 }), (before, where, bit) => {
        const bytes = encodeLearner(before, crc32);
        const damaged = bytes.slice();
        const at = where % bytes.length;
        damaged[at] ^= 1 << bit;
        expect(() => decodeLearner(damaged, crc32)).toThrow(LearnerUnreadableError);
        expect(() => decodeLearner(bytes.subarray(0, at), crc32)).toThrow(LearnerUnreadableError);
      }),
    );
  });
});
