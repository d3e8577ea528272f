import type { Pair } from './difference.ts';
import { type Sample, sampleOf } from './sample.ts';
import type { SharePeriod } from './sample-ratio.ts';
import { UnitTotals, type UnitTotalsState } from './unit-totals.ts';

export interface TallyPlan {
  readonly variants: readonly string[];
  readonly metrics: readonly string[];
  /** One share per variant, in the same order. */
  readonly shares: readonly number[];
}

/** Decisions of a unit since its last event. */
export interface UnitEvent {
  /** Decisions that were shown. */
  readonly decisions: number;
  /** Sum over those decisions of something known before the assignment (0 if nothing is). */
  readonly covariate: number;
  /** Per metric in the order of the plan: what to add to its sum, and to how many decisions it belongs. */
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly sum: number;
  readonly of: number;
}

/** Plain JSON. */
export interface TallyState {
  readonly variants: readonly string[];
  readonly metrics: readonly string[];
  readonly periods: readonly {
    readonly shares: readonly number[];
    readonly variants: readonly UnitTotalsState[];
  }[];
}

interface Period {
  readonly shares: readonly number[];
  readonly variants: readonly UnitTotals[];
}

/**
 * Keeps the moments of the units of an experiment, per period of constant shares and per variant. It has no clock, and the same
 * events in the same order give the same bits.
 *
 * A unit that is still there after a change of shares counts as another unit in the new period.
 */
export class ExperimentTally {
  readonly variants: readonly string[];
  readonly metrics: readonly string[];
  readonly #periods: Period[] = [];

  constructor(plan: TallyPlan) {
    this.variants = plan.variants;
    this.metrics = plan.metrics;
    this.changeShares(plan.shares);
  }

  /** Starts a period with these shares, in the order of the variants. */
  changeShares(shares: readonly number[]): void {
    if (shares.length !== this.variants.length) {
      throw new RangeError(`${shares.length} shares for ${this.variants.length} variants: give one each`);
    }
    const columns = FIRST_METRIC + 2 * this.metrics.length;
    for (const totals of this.#periods.at(-1)?.variants ?? []) totals.releaseAll();
    this.#periods.push({ shares: [...shares], variants: this.variants.map(() => new UnitTotals(columns)) });
  }

  /**
   * @param unit null: a unit of its own, complete with this event.
   * @throws RangeError for an unknown variant or numbers that are not finite; nothing changed then.
   */
  add(variant: string, unit: string | null, event: UnitEvent): void {
    if (event.values.length !== this.metrics.length) {
      throw new RangeError(
        `${event.values.length} values for the metrics ${this.metrics.join(', ')}: give one each`,
      );
    }
    const row = [event.decisions, event.covariate];
    for (const { sum, of } of event.values) row.push(sum, of);
    this.#latest().variants[this.#variant(variant)].add(unit, row);
  }

  /** Call when a unit has ended (its session is over): its totals are not kept any more. */
  release(variant: string, unit: string): void {
    this.#latest().variants[this.#variant(variant)].release(unit);
  }

  units(variant: string): number {
    const index = this.#variant(variant);
    return this.#periods.reduce((sum, period) => sum + period.variants[index].moments.count, 0);
  }

  decisions(variant: string): number {
    return this.#sum(variant, DECISIONS);
  }

  /** Sum and number of the decisions behind a metric, over all periods. */
  total(variant: string, metric: string): MetricValue {
    const value = this.#valueColumn(metric);
    return { sum: this.#sum(variant, value), of: this.#sum(variant, value + 1) };
  }

  /** One pair per period, as `difference` wants them. */
  pairs(metric: string, variant: string, against: string, withCovariate: boolean): Pair[] {
    return this.#periods.map((period) => ({
      variant: this.#sample(period, metric, variant, withCovariate),
      against: this.#sample(period, metric, against, withCovariate),
    }));
  }

  /** Units per variant in each period, as `sampleRatio` wants them. */
  sharePeriods(): SharePeriod[] {
    return this.#periods.map(({ shares, variants }) => ({
      shares,
      counts: variants.map(({ moments }) => moments.count),
    }));
  }

  save(): TallyState {
    const periods = this.#periods.map(({ shares, variants }) => ({
      shares,
      variants: variants.map((totals) => totals.save()),
    }));
    return { variants: this.variants, metrics: this.metrics, periods };
  }

  static load(state: TallyState): ExperimentTally {
    const tally = new ExperimentTally({ ...state, shares: state.variants.map(() => 1) });
    tally.#periods.length = 0;
    for (const { shares, variants } of state.periods) {
      tally.#periods.push({ shares, variants: variants.map((totals) => UnitTotals.load(totals)) });
    }
    return tally;
  }

  #latest(): Period {
    return this.#periods.at(-1)!;
  }

  #sum(variant: string, column: number): number {
    const index = this.#variant(variant);
    return this.#periods.reduce((sum, { variants }) => sum + variants[index].moments.sum(column), 0);
  }

  #sample(period: Period, metric: string, variant: string, withCovariate: boolean): Sample {
    const value = this.#valueColumn(metric);
    const columns = { value, weight: value + 1 };
    const covariate = { value: COVARIATE, weight: DECISIONS };
    const { moments } = period.variants[this.#variant(variant)];
    return sampleOf(moments, withCovariate ? { ...columns, covariate } : columns);
  }

  #variant(name: string): number {
    return place('variant', name, this.variants);
  }

  #valueColumn(metric: string): number {
    return FIRST_METRIC + 2 * place('metric', metric, this.metrics);
  }
}

const DECISIONS = 0;
const COVARIATE = 1;
const FIRST_METRIC = 2;

function place(what: string, name: string, names: readonly string[]): number {
  const index = names.indexOf(name);
  if (index < 0) throw new RangeError(`unknown ${what} "${name}": there are ${names.join(', ')}`);
  return index;
}
