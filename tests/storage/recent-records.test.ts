import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentRecords } from '../../src/storage/recent-records.ts';

describe('RecentRecords', () => {
  it('holds the newest records within its bytes, as a list would', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4000, size: 'max' });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 0, max: 50 }), (lengths, first) => {
        const recent = new RecentRecords(100);
        const all = lengths.map((length) => new Uint8Array(length));
        for (const [i, bytes] of all.entries()) recent.push(first + 1 + i, bytes);
        let held = 0;
        let from = all.length;
        while (from > 0 && held + all[from - 1].length <= 100) held += all[--from].length;
        if (from < all.length) {
          expect(recent.after(first + from, 1000)).toHaveLength(all.length - from);
          expect(recent.after(first + from, 2)?.[0]).toBe(all[from]);
        }
        if (from > 0) expect(recent.after(first + from - 1, 10)).toBeNull();
        expect(recent.after(first + all.length, 10)).toBeNull();
      }),
      { seed: 3, numRuns: 50 },
    );
  });

  it('never has a gap', () => {
    const recent = new RecentRecords(100);
    recent.push(1, new Uint8Array(1));
    recent.push(5, new Uint8Array(2));
    expect(recent.after(0, 10)).toBeNull();
    expect(recent.after(4, 10)).toEqual([new Uint8Array(2)]);
  });
});
