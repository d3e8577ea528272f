import { binomialPValue, chiSquaredTail } from './distributions.ts';
import { lnGamma } from './gamma.ts';

/** Units that came to each variant while the shares were these; a change of shares starts another period. */
export interface SharePeriod {
  readonly counts: readonly number[];
  /** In any unit of measure; only their proportions count. */
  readonly shares: readonly number[];
}

export interface SampleRatio {
  /** χ²: probability of proportions at least this far from the shares, for one look. */
  readonly pValue: number;
  /** False: the units are not split as the shares say, so units are lost or counted twice, and no result can be trusted. */
  readonly ok: boolean;
  /** `pValue` for reading the report after every unit; automatic decisions use this one. */
  readonly anytimePValue: number;
  readonly anytimeOk: boolean;
}

/** An alarm below this. Small, because a false alarm blocks an experiment, and real faults are rarely subtle. */
export const SAMPLE_RATIO_ALPHA = 0.001;

/**
 * Sample-ratio mismatch: do the units come to the variants as the shares say? Pearson's χ² for one look; for looking
 * all the time the Dirichlet–multinomial mixture of Lindon & Malek (2022, "Anytime-valid inference for multinomial
 * count data"), which is exact for every number of units.
 * @throws RangeError for counts that are not whole or shares that are not proportions.
 */
export function sampleRatio(periods: readonly SharePeriod[]): SampleRatio {
  let statistic = 0;
  let degreesOfFreedom = 0;
  let lnEvidence = 0;
  for (const period of periods) {
    const { counts, shares } = proportions(period);
    const units = counts.reduce((sum, count) => sum + count, 0);
    if (units === 0) continue;
    lnEvidence += lnMixtureRatio(counts, shares, units);
    // Who was to get nothing adds nothing to expect; units there are evidence beyond any doubt.
    counts.forEach((count, i) => {
      if (shares[i] > 0) statistic += (count - units * shares[i]) ** 2 / (units * shares[i]);
      else if (count > 0) statistic = Number.POSITIVE_INFINITY;
    });
    degreesOfFreedom += shares.filter((share) => share > 0).length - 1;
  }
  const pValue = chiSquaredPValue(statistic, degreesOfFreedom);
  const anytimePValue = Math.min(1, Math.exp(-lnEvidence));
  return {
    pValue,
    ok: pValue >= SAMPLE_RATIO_ALPHA || !isExactlyRare(periods),
    anytimePValue,
    anytimeOk: anytimePValue >= SAMPLE_RATIO_ALPHA,
  };
}

/**
 * χ² is an approximation: counts are whole, so that it may alarm a little too often (0.1008 % at 20,000 units in halves),
 * and much too often where few units are expected. For two variants the binomial distribution is used then. There is no
 * such simple test for more variants or periods.
 */
function isExactlyRare(periods: readonly SharePeriod[]): boolean {
  const counted = periods.filter(({ counts }) => counts.some((count) => count > 0));
  if (counted.length !== 1) return true;
  const { counts, shares } = proportions(counted[0]);
  const [one, two] = [...shares.keys()].filter((i) => shares[i] > 0 || counts[i] > 0);
  if (two === undefined || shares[one] === 0 || shares[two] === 0) return true;
  if (shares.some((share, i) => (share > 0 || counts[i] > 0) && i !== one && i !== two)) return true;
  return binomialPValue(counts[one], counts[one] + counts[two], shares[one]) < SAMPLE_RATIO_ALPHA;
}

function chiSquaredPValue(statistic: number, degreesOfFreedom: number): number {
  if (statistic === Number.POSITIVE_INFINITY) return 0;
  return degreesOfFreedom > 0 ? chiSquaredTail(statistic, degreesOfFreedom) : 1;
}

/**
 * ln of the mixture's likelihood over that of the shares. The mixture is a Dirichlet centred on the shares, worth
 * CONCENTRATION units, which is most powerful around 5,000 units.
 */
function lnMixtureRatio(counts: readonly number[], shares: readonly number[], units: number): number {
  let ln = lnGamma(CONCENTRATION) - lnGamma(CONCENTRATION + units);
  for (const [i, count] of counts.entries()) {
    const share = shares[i];
    if (share === 0 && count > 0) return Number.POSITIVE_INFINITY;
    if (count === 0) continue;
    const prior = CONCENTRATION * share;
    ln += lnGamma(prior + count) - lnGamma(prior) - count * Math.log(share);
  }
  return ln;
}

const CONCENTRATION = 300;

function proportions({ counts, shares }: SharePeriod): SharePeriod {
  if (counts.length !== shares.length) {
    throw new RangeError(`${counts.length} counts but ${shares.length} shares: give one of each per variant`);
  }
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!(total > 0 && Number.isFinite(total)) || shares.some((share) => !(share >= 0))) {
    throw new RangeError(`shares ${shares.join(', ')} are no proportions: give numbers ≥ 0, not all 0`);
  }
  for (const count of counts) {
    if (!Number.isInteger(count) || count < 0) throw new RangeError(`${count} is no count of units`);
  }
  return { counts, shares: shares.map((share) => share / total) };
}
