import { expect, it } from 'vitest';
import { settlementJob, settlementJobOf } from '../../src/decisions/settlements.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { settleDecision } from '../../src/rewards/apply-reward.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';

it('the settlement of a decision says no time before its deadline, and closes no later one of the same id', async () => {
  const made = (at: number) => ({ ...sampleDecision('default.kept', at, 2), activatedAt: at });
  const [first, second] = [made(1_000), made(400_000)];
  const entries: Entry[] = [];
  const ledger = { append: async (some: readonly Entry[]) => void entries.push(...some) };
  const run = async (of: typeof first, found: typeof first, now: number) => {
    const job = settlementJob.parse(settlementJobOf(of).payload);
    await settleDecision(
      job,
      { ledger: ledger as never, decisions: { get: async () => found } as never },
      now,
    );
    return entries.splice(0).map(({ at }) => at);
  };
  expect(await run(first, second, first.deadline)).toEqual([]);
  expect(await run(second, second, second.deadline + 5)).toEqual([second.deadline + 5]);
  // The clock that held the job back was a little ahead.
  expect(await run(second, second, second.deadline - 5)).toEqual([second.deadline]);
  expect(settlementJobOf(first).id).not.toBe(settlementJobOf(second).id);
});
