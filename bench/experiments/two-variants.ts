import { type Difference, difference, MINIMUM_UNITS } from '../../bandit/statistics/difference.ts';
import { Moments } from '../../bandit/statistics/moments.ts';
import { type MetricColumns, sampleOf } from '../../bandit/statistics/sample.ts';

/** Columns of a unit's vector in these simulations. */
const COLUMNS: MetricColumns = { weight: 0, value: 1 };
const WITH_COVARIATE: MetricColumns = { ...COLUMNS, covariate: { value: 2, weight: 0 } };

/** Two variants that are looked at after every unit. */
export class TwoVariants {
  readonly moments: readonly [Moments, Moments];
  readonly #columns: MetricColumns;

  constructor(withCovariate = false, moments = [new Moments(3), new Moments(3)] as const) {
    this.moments = moments;
    this.#columns = withCovariate ? WITH_COVARIATE : COLUMNS;
  }

  add(variant: 0 | 1, value: number, covariate = 0): void {
    this.moments[variant].add([1, value, covariate]);
  }

  /**
   * What can be said now, or null. Also null where no interval of the caller's could exclude 0, because the estimate
   * is fewer standard errors away from it: most looks, and the only reason why these benches are quick.
   */
  look(standardErrors: number): Difference | null {
    const [against, variant] = this.moments;
    if (Math.min(against.count, variant.count) < MINIMUM_UNITS) return null;
    if (this.#columns === COLUMNS && !isFarFromZero(against, variant, standardErrors)) return null;
    return this.everything();
  }

  everything(): Difference | null {
    const [against, variant] = this.moments;
    return difference([
      { variant: sampleOf(variant, this.#columns), against: sampleOf(against, this.#columns) },
    ]);
  }
}

function isFarFromZero(against: Moments, variant: Moments, standardErrors: number): boolean {
  const gap = variant.mean(1) - against.mean(1);
  // One decision a unit: the plain variances are those of the difference.
  const variance = variant.covariance(1, 1) / variant.count + against.covariance(1, 1) / against.count;
  return gap * gap >= standardErrors ** 2 * variance;
}
