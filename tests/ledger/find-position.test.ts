import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { firstPosition, lastBefore } from '../../src/ledger/find-position.ts';
import { type Ledger, LedgerTrimmedError } from '../../src/ledger/ledger.ts';

/** A ledger of entries with these times of which the first `trimmed` are gone. */
function ledgerOf(times: readonly number[], trimmed: number): Ledger {
  const read: Ledger['read'] = async (after, limit) => {
    if (after < trimmed) throw new LedgerTrimmedError('gone');
    return times.slice(after, after + limit).map((at, i) => ({
      position: after + i + 1,
      entry: { kind: 'forget', key: `${i}`, at } as Entry,
    }));
  };
  return { read } as Ledger;
}

const history = fc.array(fc.nat({ max: 20 }), { maxLength: 40 }).chain((steps) =>
  fc.record({
    times: fc.constant(steps.map((_, i) => steps.slice(0, i + 1).reduce((sum, step) => sum + step, 0))),
    trimmed: fc.nat({ max: steps.length }),
    time: fc.nat({ max: 300 }),
  }),
);

it('what is still there is found, and the last entry before a time', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ times, trimmed, time }) => {
      const ledger = ledgerOf(times, trimmed);
      expect(await firstPosition(ledger, times.length)).toBe(trimmed);
      const older = times.filter((at) => at < time).length;
      expect(await lastBefore(ledger, time, times.length)).toBe(Math.max(trimmed, older));
    }),
  );
});
