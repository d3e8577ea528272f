import { createHash } from 'node:crypto';
import { type Allocation, allocate, reallocate } from '../../../bandit/assignment/allocation.ts';
import { VariantAssignment } from '../../../bandit/assignment/assignment.ts';
import { type ExperimentReport, reportExperiment } from '../../../bandit/statistics/experiment-report.ts';
import { ExperimentTally, type TallyState } from '../../../bandit/statistics/experiment-tally.ts';
import {
  comparesDetail,
  type ExperimentDefinition,
  isHarmful,
  METRICS,
  type VariantDefinition,
} from '../../ledger/experiment-definition.ts';
import { ExperimentSeries, type SeriesState } from './experiment-series.ts';
import { type OpenUnit, OpenUnits } from './open-units.ts';

export type ExperimentStatus = 'draft' | 'running' | 'stopped' | 'promoted';

/** Something that happened to an experiment. */
export interface ExperimentEvent {
  readonly at: number;
  readonly action: string;
  readonly actor: string | null;
  /** One sentence. */
  readonly note: string;
}

/** The state of one variant. */
export interface VariantState {
  /** Version of the policy that ranks for it; null before the start. */
  version: string | null;
  /** Whether it was killed: then it serves retrieval order. */
  killed: boolean;
  /** Why a guardrail took it out; null: it was not taken out. */
  outBecause: string | null;
}

/** Item-level comparison of a shadow with what was served instead. */
export interface ShadowTotals {
  decisions: number;
  /** Σ of the share of the served slate that it would have shown too. */
  overlap: number;
  /** Calls that succeeded in decisions it ranked, and in how many of them its slate, or the served one, had the tool. */
  successes: number;
  hits: number;
  servedHits: number;
}

export interface ExperimentRecordState {
  readonly definition: ExperimentDefinition;
  readonly status: ExperimentStatus;
  readonly promoted: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly sharesSince: number | null;
  readonly shares: readonly [string, number][];
  readonly allocation: Allocation | null;
  readonly variants: readonly [string, VariantState][];
  readonly shadows: readonly [string, ShadowTotals][];
  readonly decided: readonly [string, number][];
  readonly exposures: readonly [string, number][];
  readonly withoutUnit: number;
  readonly ownDetail: number;
  readonly history: readonly ExperimentEvent[];
  readonly tally: TallyState | null;
  readonly series: SeriesState;
  readonly units: readonly OpenUnit[];
}

const KEPT_EVENTS = 200;

/** One experiment in the state of a catalog. */
export class ExperimentRecord {
  /** With what its variants leave open until the start. */
  definition: ExperimentDefinition;
  status: ExperimentStatus = 'draft';
  promoted: string | null = null;
  startedAt: number | null = null;
  endedAt: number | null = null;
  /** When the shares last changed. */
  sharesSince: number | null = null;
  /** Basis points of the variants that serve. */
  shares: Map<string, number>;
  allocation: Allocation | null = null;
  readonly variants: Map<string, VariantState>;
  readonly shadows: Map<string, ShadowTotals>;
  /** Decisions that were made, and those of them that were shown, by variant. */
  readonly decided = new Map<string, number>();
  readonly exposures = new Map<string, number>();
  /** Requests that fitted and were left out: they named no unit, or their own level of detail where that is compared. */
  withoutUnit = 0;
  ownDetail = 0;
  history: ExperimentEvent[] = [];
  tally: ExperimentTally | null = null;
  readonly series: ExperimentSeries;
  readonly units: OpenUnits;
  /** Derived from the allocation. */
  assignment: VariantAssignment | null = null;

  constructor(definition: ExperimentDefinition) {
    this.definition = definition;
    const { variants } = definition;
    this.shares = new Map(serving(definition).map(({ name, share }) => [name, share]));
    this.variants = new Map(
      variants.map(({ name }) => [name, { version: null, killed: false, outBecause: null }]),
    );
    const shadows = variants.filter(({ mode }) => mode === 'shadow');
    this.shadows = new Map(
      shadows.map(({ name }) => [name, { decisions: 0, overlap: 0, successes: 0, hits: 0, servedHits: 0 }]),
    );
    this.series = new ExperimentSeries([...this.shares.keys()]);
    this.units = new OpenUnits();
  }

  get comparesDetail(): boolean {
    return comparesDetail(this.definition);
  }

  variant(name: string): VariantDefinition | undefined {
    return this.definition.variants.find((variant) => variant.name === name);
  }

  note(event: ExperimentEvent): void {
    this.history = [...this.history, event].slice(-KEPT_EVENTS);
  }

  /** @param definition with the policy of every variant */
  start(definition: ExperimentDefinition, at: number): void {
    this.definition = definition;
    this.status = 'running';
    this.startedAt = at;
    this.sharesSince = at;
    this.#allocate(allocate(this.#shareList()));
    const variants = [...this.shares.keys()];
    this.tally = new ExperimentTally({ variants, metrics: METRICS, shares: [...this.shares.values()] });
  }

  /** Starts a new period: what was shown under the old shares is not counted under the new ones. */
  changeShares(shares: ReadonlyMap<string, number>, at: number): void {
    this.shares = new Map(shares);
    if (this.allocation === null || this.tally === null) return;
    this.sharesSince = at;
    this.#allocate(reallocate(this.allocation, this.#shareList()));
    this.tally.changeShares([...this.shares.values()]);
    this.units.clear();
  }

  save(): ExperimentRecordState {
    const { definition, status, promoted, startedAt, endedAt, sharesSince, allocation } = this;
    const { withoutUnit, ownDetail } = this;
    return {
      ...{
        definition,
        status,
        promoted,
        startedAt,
        endedAt,
        sharesSince,
        allocation,
        withoutUnit,
        ownDetail,
      },
      shares: [...this.shares],
      variants: [...this.variants],
      shadows: [...this.shadows],
      decided: [...this.decided],
      exposures: [...this.exposures],
      history: this.history,
      tally: this.tally?.save() ?? null,
      series: this.series.save(),
      units: this.units.save(),
    };
  }

  static load(saved: ExperimentRecordState): ExperimentRecord {
    const record = new ExperimentRecord(saved.definition);
    record.status = saved.status;
    record.promoted = saved.promoted;
    record.startedAt = saved.startedAt;
    record.endedAt = saved.endedAt;
    record.sharesSince = saved.sharesSince;
    record.shares = new Map(saved.shares);
    if (saved.allocation !== null) record.#allocate(saved.allocation);
    for (const [name, variant] of saved.variants) record.variants.set(name, { ...variant });
    for (const [name, totals] of saved.shadows) record.shadows.set(name, { ...totals });
    for (const [name, count] of saved.decided) record.decided.set(name, count);
    for (const [name, count] of saved.exposures) record.exposures.set(name, count);
    record.withoutUnit = saved.withoutUnit;
    record.ownDetail = saved.ownDetail;
    record.history = [...saved.history];
    record.tally = saved.tally === null ? null : ExperimentTally.load(saved.tally);
    record.series.restore(saved.series);
    record.units.restore(saved.units);
    return record;
  }

  #allocate(allocation: Allocation): void {
    this.allocation = allocation;
    this.assignment = new VariantAssignment({ salt: this.definition.salt, variants: allocation }, sha256);
  }

  #shareList(): { name: string; basisPoints: number }[] {
    return [...this.shares].map(([name, basisPoints]) => ({ name, basisPoints }));
  }
}

function serving(definition: ExperimentDefinition): readonly VariantDefinition[] {
  return definition.variants.filter(({ mode }) => mode !== 'shadow');
}

/** SHA-256 for the assignment of units: see `Sha256` in bandit/assignment/bucket.ts. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Returns the statistics of an experiment now. Pure: the fold decides by it, and the report shows it. */
export function reportOf({ definition }: ExperimentRecord, tally: ExperimentTally): ExperimentReport {
  const { against, metric, minimumLift, alpha, tightestAt, guardrails } = definition;
  return reportExperiment(tally, {
    against,
    metric,
    better: isHarmful(metric) ? 'lower' : 'higher',
    minimumLift,
    alpha,
    tightestAt,
    guardrails,
    withCovariate: true,
  });
}
