import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../errors/problem.ts';
import type { ExperimentChange } from '../ledger/experiment-definition.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import type { Leases } from '../snapshots/snapshot-store.ts';
import { type ExperimentRecord, reportOf } from '../state/experiments/experiment-record.ts';
import type { Experiments } from './experiments.ts';

const LOOK_EVERY_MS = 5_000;
const ACTOR = 'automatic promotion';

export interface ExperimentDriverParts {
  readonly experiments: Experiments;
  readonly leases: Leases;
  onError(message: string, error: unknown): void;
}

/** Raises shares and promotes winners of automatic experiments; one process at a time does it for a catalog. */
export class ExperimentDriver {
  readonly #catalogs: Catalogs;
  readonly #parts: ExperimentDriverParts;
  readonly #looks: Repeated;

  constructor(catalogs: Catalogs, parts: ExperimentDriverParts) {
    this.#catalogs = catalogs;
    this.#parts = parts;
    this.#looks = every(LOOK_EVERY_MS, (signal) => this.#look(signal), {
      onError: (error) => parts.onError('experiments could not be driven', error),
    });
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  async #look(signal: AbortSignal): Promise<void> {
    for (const catalog of this.#catalogs.all()) {
      if (signal.aborted) return;
      try {
        await this.#drive(catalog);
      } catch (error) {
        // It was stopped or changed in the meantime: that stands.
        if (error instanceof Problem) continue;
        this.#parts.onError(`experiments of catalog "${catalog.name}" could not be driven`, error);
      }
    }
  }

  async #drive(catalog: Catalog): Promise<void> {
    const due = () =>
      catalog.state.experiments.all().flatMap((record) => {
        const change = nextStep(record, catalog.now());
        return change === null
          ? []
          : [{ name: record.definition.name, change, decidedBy: record.allocation?.version }];
      });
    if (due().length === 0) return;
    const lease = await this.#parts.leases.acquire(`experiments-${catalog.name}`);
    if (lease === null) return;
    try {
      for (const { name, change, decidedBy } of due()) {
        await this.#parts.experiments.change(catalog.name, name, change, ACTOR, decidedBy);
      }
    } finally {
      await lease.release();
    }
  }
}

const HOUR_MS = 60 * 60 * 1000;
/** Share of the units that the challenger needs before it can be promoted, in basis points. */
const HALF = 5000;

/**
 * Returns the next step of an automatic experiment; null: wait. Shares rise by a plan of hours and units, never because a
 * variant is ahead; only the verdict, which is valid at every moment, ends the experiment.
 *
 * @param now ms since the epoch.
 */
export function nextStep(record: ExperimentRecord, now: number): ExperimentChange | null {
  const { definition, tally, status } = record;
  const { automatic, against } = definition;
  if (automatic === null || tally === null || status !== 'running') return null;
  const challenger = [...record.shares.keys()].find((name) => name !== against);
  if (challenger === undefined) return null;
  const { decision, winner, srm } = reportOf(record, tally);
  if (decision === false) return { action: 'stop' };
  if (!srm.anytimeOk || !srm.ok || !hasHeld(record, challenger, now)) return null;
  if ((record.shares.get(challenger) ?? 0) < HALF) {
    return { action: 'shares', shares: { [against]: 10_000 - HALF, [challenger]: HALF } };
  }
  return decision === true && winner === challenger ? { action: 'promote', variant: challenger } : null;
}

/** Returns whether the present shares have lasted long enough, and were shown to enough units. */
function hasHeld(record: ExperimentRecord, challenger: string, now: number): boolean {
  const { minimumHours, minimumUnits } = record.definition.automatic!;
  const since = record.sharesSince ?? now;
  const units = record.tally!.sharePeriods().at(-1)!.counts[[...record.shares.keys()].indexOf(challenger)];
  return now - since >= minimumHours * HOUR_MS && units >= minimumUnits;
}
