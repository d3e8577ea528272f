import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TermTable } from '../../src/retrieval/term-table.ts';

describe('TermTable', () => {
  it('has what a map has, of one text after the other', () => {
    const table = new TermTable();
    // Few different ones, some that belong in the same place, and many.
    const term = fc.oneof(
      fc.nat(20),
      fc.nat(40).map((at) => at * 2 ** 25 + 7),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    );
    const text = fc.array(fc.tuple(term, fc.double({ noNaN: true })), { maxLength: 400, size: 'max' });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
        for (const pairs of texts) {
          const map = new Map<number, number>();
          table.clear();
          for (const [one, value] of pairs) {
            const before = map.get(one);
            map.set(one, before === undefined ? value : before + value);
            table.add(one, value);
          }
          expect(table.size).toBe(map.size);
          expect([...table.terms.subarray(0, table.size)]).toEqual([...map.keys()]);
          expect([...table.values.subarray(0, table.size)]).toEqual([...map.values()]);
          for (const [at, one] of [...map.keys()].entries()) expect(table.positionOf(one)).toBe(at);
          for (const one of [0, 21, 2 ** 32 - 1]) if (!map.has(one)) expect(table.positionOf(one)).toBe(-1);
        }
      }),
    );
  });
});
