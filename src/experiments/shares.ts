import { Problem } from '../problem.ts';

/** One percent. */
const BASIS_POINTS = 100;

/** Shares, given in percent, as whole basis points. @throws Problem validation-failed */
export function basisPoints(
  shares: readonly (readonly [name: string, percent: number])[],
): Map<string, number> {
  const sum = shares.reduce((total, [, percent]) => total + percent, 0);
  if (Math.abs(sum - 100) > 1e-7) {
    throw refused(
      `The shares add up to ${Number(sum.toPrecision(6))}: they have to add up to 100 (percent).`,
    );
  }
  const whole = shares.map(([name, percent]) => [name, Math.round(percent * BASIS_POINTS)] as const);
  const isWhole = shares.every(([, percent], i) => Math.abs(percent * BASIS_POINTS - whole[i][1]) < 1e-6);
  if (!isWhole) throw refused('Shares can be divided down to 0.01 % and no further.');
  return new Map(whole);
}

function refused(message: string): Problem {
  return new Problem('validation-failed', message, 'Give shares in percent that add up to 100.', {
    violations: [{ path: 'variants', message }],
  });
}
