import type { TallyState } from '../../../bandit/statistics/experiment-tally.ts';
import type { MomentsState } from '../../../bandit/statistics/moments.ts';
import type { UnitTotalsState } from '../../../bandit/statistics/unit-totals.ts';
import type { ShadowComparison } from '../../ledger/entry.ts';
import { inBlocks, part, type SnapshotPart } from '../snapshot-parts.ts';
import type { ExperimentRecordState } from './experiment-record.ts';
import type { ExperimentTableState } from './experiment-table.ts';
import type { OpenUnit } from './open-units.ts';

/** How many of them make one part. */
const UNITS = 2048;
const SHADOWS = 512;

/** Yields the parts of the experiments of a catalog: of each experiment one part, then the parts of its open units. */
export function* experimentParts(saved: ExperimentTableState): Generator<SnapshotPart> {
  const { experiments, batches, layers, shadows } = saved;
  yield part('experiments', { batches, layers });
  for (const comparisons of inBlocks(shadows, SHADOWS)) yield part('shadows', comparisons);
  for (const experiment of experiments) {
    yield part('experiment', withoutUnits(experiment));
    for (const units of inBlocks(experiment.units, UNITS)) yield part('units', units);
    for (const [period, { variants }] of (experiment.tally?.periods ?? []).entries()) {
      for (const [variant, totals] of variants.entries()) yield* totalsParts(period, variant, totals);
    }
  }
}

function* totalsParts(
  period: number,
  variant: number,
  { moments, units, totals }: UnitTotalsState,
): Generator<SnapshotPart> {
  const columns = moments.sums.length;
  for (let from = 0; from < units.length; from += UNITS) {
    const rows = Float64Array.from(totals.slice(from * columns, (from + UNITS) * columns));
    yield part('totals', { period, variant, units: units.slice(from, from + UNITS) }, [rows]);
  }
}

function withoutUnits(experiment: ExperimentRecordState): ExperimentRecordState {
  const { tally } = experiment;
  const periods = tally?.periods.map(({ shares, variants }) => ({
    shares,
    variants: variants.map(({ moments }) => ({ moments, units: [], totals: [] })),
  }));
  return { ...experiment, units: [], tally: tally && { ...tally, periods: periods ?? [] } };
}

/** Builds experiments from their parts, in the order in which they were written. */
export class ExperimentParts {
  #table: Pick<ExperimentTableState, 'batches' | 'layers'> = { batches: [], layers: [] };
  readonly #experiments: Growing[] = [];
  readonly #shadows: ShadowComparison[] = [];

  /** Adds a part; returns false if it is no part of an experiment. */
  take({ part, json, arrays }: SnapshotPart): boolean {
    switch (part) {
      case 'experiments':
        this.#table = json as Pick<ExperimentTableState, 'batches' | 'layers'>;
        return true;
      case 'shadows':
        this.#shadows.push(...(json as ShadowComparison[]));
        return true;
      case 'experiment':
        this.#experiments.push(json as Growing);
        return true;
      case 'units':
        this.#experiments.at(-1)!.units.push(...(json as OpenUnit[]));
        return true;
      case 'totals':
        this.#addTotals(json as { period: number; variant: number; units: string[] }, arrays[0]);
        return true;
      default:
        return false;
    }
  }

  complete(): ExperimentTableState {
    return { ...this.#table, experiments: this.#experiments, shadows: this.#shadows };
  }

  #addTotals(
    { period, variant, units }: { period: number; variant: number; units: string[] },
    rows: ArrayLike<number>,
  ): void {
    const of = this.#experiments.at(-1)!.tally!.periods[period].variants[variant];
    of.units.push(...units);
    for (let i = 0; i < rows.length; i++) of.totals.push(rows[i]);
  }
}

/** An experiment whose units were not read yet. */
type Growing = Omit<ExperimentRecordState, 'units' | 'tally'> & {
  readonly units: OpenUnit[];
  readonly tally: (Omit<TallyState, 'periods'> & { readonly periods: readonly GrowingPeriod[] }) | null;
};

interface GrowingPeriod {
  readonly shares: readonly number[];
  readonly variants: readonly { moments: MomentsState; units: string[]; totals: number[] }[];
}
