import { confidenceSequence } from '../../bandit/statistics/confidence-sequence.ts';
import { difference } from '../../bandit/statistics/difference.ts';
import { fixedHorizonInterval } from '../../bandit/statistics/fixed-horizon.ts';
import { Moments } from '../../bandit/statistics/moments.ts';
import { sampleOf } from '../../bandit/statistics/sample.ts';
import { UnitTotals } from '../../bandit/statistics/unit-totals.ts';
import { Draws } from './draws.ts';
import { ALPHA, excludesZero } from './peeking.ts';

export interface TwoWays {
  readonly what: string;
  /** Share of A/A runs in which the anytime interval excluded 0 at any look; and the fixed one at the last look. */
  readonly anytime: number;
  readonly fixedOnce: number;
}

/**
 * Users come back: 500 of them make 5,000 decisions, and each has a success rate of its own (10 % to 90 %). Decisions
 * of one user are then not independent, and counting them as if they were finds differences between equal variants.
 */
export function returningUsers(runs: number, tightestAt: number): TwoWays[] {
  const decisions = 5000;
  const users = 500;
  const hits = { units: 0, decisions: 0, unitsOnce: 0, decisionsOnce: 0 };
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`returning users ${run}`);
    const rates = Array.from({ length: users }, () => 0.1 + 0.8 * draws.uniform());
    const variantOf = rates.map(() => draws.coin(0.5));
    const totals = [new UnitTotals(2), new UnitTotals(2)];
    const each = [new Moments(2), new Moments(2)];
    const first = { units: false, decisions: false };
    for (let decision = 1; decision <= decisions; decision++) {
      // New users keep coming: whoever is here by now may be the one who asks.
      const here = Math.max(1, Math.ceil((users * decision) / decisions));
      const user = Math.floor(draws.uniform() * here);
      const row = [1, draws.coin(rates[user])];
      totals[variantOf[user]].add(String(user), row);
      each[variantOf[user]].add(row);
      const last = decision === decisions;
      if (decision % 5 !== 0) continue;
      for (const [way, moments] of [
        ['units', totals.map((t) => t.moments)] as const,
        ['decisions', each] as const,
      ]) {
        if (first[way] && !last) continue;
        const [against, variant] = moments.map((m) => sampleOf(m, { value: 1, weight: 0 }));
        const found = difference([{ variant, against }]);
        if (found === null) continue;
        if (excludesZero(confidenceSequence(found, { alpha: ALPHA, tightestAt }))) first[way] = true;
        if (last && excludesZero(fixedHorizonInterval(found, ALPHA))) hits[`${way}Once`] += 1;
      }
    }
    if (first.units) hits.units += 1;
    if (first.decisions) hits.decisions += 1;
  }
  return [
    {
      what: 'returning users, decisions as units',
      anytime: hits.decisions / runs,
      fixedOnce: hits.decisionsOnce / runs,
    },
    { what: 'returning users, users as units', anytime: hits.units / runs, fixedOnce: hits.unitsOnce / runs },
  ];
}

/**
 * Shares change from 90/10 to 50/50 while everybody's success rate rises from 40 % to 50 %: the new variant gets more
 * of the better days. Compared over all days at once, and period by period.
 */
export function changingShares(runs: number, tightestAt: number): TwoWays[] {
  const hits = { pooled: 0, periods: 0, pooledOnce: 0, periodsOnce: 0 };
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`changing shares ${run}`);
    const periods = [0, 1].map(() => [new Moments(2), new Moments(2)]);
    const pooled = [new Moments(2), new Moments(2)];
    const first = { pooled: false, periods: false };
    for (let unit = 1; unit <= 5000; unit++) {
      const period = unit <= 2000 ? 0 : 1;
      const variant = draws.coin(period === 0 ? 0.1 : 0.5);
      const row = [1, draws.coin(period === 0 ? 0.4 : 0.5)];
      periods[period][variant].add(row);
      pooled[variant].add(row);
      const last = unit === 5000;
      if (unit % 5 !== 0) continue;
      for (const [way, all] of [['pooled', [pooled]] as const, ['periods', periods] as const]) {
        if (first[way] && !last) continue;
        const pairs = all.map((moments) => {
          const [against, treated] = moments.map((m) => sampleOf(m, { value: 1, weight: 0 }));
          return { variant: treated, against };
        });
        const found = difference(pairs);
        if (found === null) continue;
        if (excludesZero(confidenceSequence(found, { alpha: ALPHA, tightestAt }))) first[way] = true;
        if (last && excludesZero(fixedHorizonInterval(found, ALPHA))) hits[`${way}Once`] += 1;
      }
    }
    if (first.pooled) hits.pooled += 1;
    if (first.periods) hits.periods += 1;
  }
  return [
    {
      what: 'changed shares and a trend, all days at once',
      anytime: hits.pooled / runs,
      fixedOnce: hits.pooledOnce / runs,
    },
    {
      what: 'changed shares and a trend, by period',
      anytime: hits.periods / runs,
      fixedOnce: hits.periodsOnce / runs,
    },
  ];
}
