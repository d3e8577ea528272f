import { Problem } from '../problem.ts';

/** What shares may add up to, and how many basis points one of them then is. */
const TOTALS = [
  { total: 100, basisPoints: 100 },
  { total: 1, basisPoints: 10_000 },
  { total: 10_000, basisPoints: 1 },
];

/**
 * Shares as whole basis points. They may be given in percent, as fractions or in basis points: what they add up to says
 * which. @throws Problem validation-failed
 */
export function basisPoints(
  shares: readonly (readonly [name: string, share: number])[],
): Map<string, number> {
  const sum = shares.reduce((total, [, share]) => total + share, 0);
  const unit = TOTALS.find(({ total }) => Math.abs(sum - total) < 1e-9 * total);
  if (unit === undefined) {
    throw refused(
      `The shares add up to ${Number(sum.toPrecision(6))}: they have to add up to 100 (percent).`,
    );
  }
  const whole = shares.map(([name, share]) => [name, Math.round(share * unit.basisPoints)] as const);
  const isWhole = shares.every(([, share], i) => Math.abs(share * unit.basisPoints - whole[i][1]) < 1e-6);
  if (!isWhole) throw refused('Shares can be divided down to 0.01 % and no further.');
  return new Map(whole);
}

function refused(message: string): Problem {
  return new Problem(
    'validation-failed',
    message,
    'Give shares in percent that add up to 100 (or fractions that add up to 1, or basis points up to 10,000).',
    { violations: [{ path: 'variants', message }] },
  );
}
