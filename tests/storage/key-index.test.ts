import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyIndex } from '../../src/storage/key-index.ts';

describe('KeyIndex', () => {
  it('finds all offsets of a key, newest first, and of other keys next to never', () => {
    const entries = fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.integer({ min: 1, max: 2 ** 32 - 1 })));
    fc.assert(
      fc.property(entries, (added) => {
        const index = new KeyIndex();
        const oracle = new Map<string, number[]>();
        for (const [key, offset] of added) {
          index.add(key, offset);
          oracle.set(key, [...(oracle.get(key) ?? []), offset]);
        }
        expect(index.size).toBe(added.length);
        for (const [key, offsets] of oracle) {
          expect(index.find(key)).toEqual(offsets.sort((a, b) => b - a));
        }
      }),
      { seed: 2 },
    );
  });

  it('keeps ids apart, takes at most 22 bytes for each, and comes back from its table', () => {
    const index = new KeyIndex();
    const count = 20_000;
    for (let i = 1; i <= count; i++) index.add(`default.${i.toString(36).padStart(9, '0')}`, i);
    const { hashes, offsets } = index.table;
    const bytes = hashes.byteLength + offsets.byteLength;
    expect(bytes / count).toBeLessThanOrEqual(22);
    const again = new KeyIndex(hashes.slice(), offsets.slice());
    expect(again.size).toBe(count);
    let wrong = 0;
    for (let i = 1; i <= count; i++) {
      const found = again.find(`default.${i.toString(36).padStart(9, '0')}`);
      expect(found).toContain(i);
      wrong += found.length - 1;
      wrong += again.find(`other.${i}`).length;
    }
    expect(wrong).toBeLessThan(5);
  });
});
