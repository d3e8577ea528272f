import type { UnitEvent } from '../../../bandit/statistics/experiment-tally.ts';
import type { Assignment } from '../../ledger/entry.ts';
import type { ExperimentUnit } from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';

const HOUR_MS = 60 * 60 * 1000;

/** A unit that was not heard of for so long has ended; if it comes back, it counts as another one. */
const ENDS_AFTER_MS: Record<Exclude<ExperimentUnit, 'decision'>, number> = {
  sessionId: 24 * HOUR_MS,
  userId: 30 * 24 * HOUR_MS,
  unitId: 30 * 24 * HOUR_MS,
};

/**
 * Adds to the totals of the unit of a decision. False, and nothing is counted, if the shares have changed since it
 * was assigned: its unit may be in another variant now.
 */
export function countUnit(state: CatalogState, assignment: Assignment, event: UnitEvent): boolean {
  const { experiment, variant, allocation, unit } = assignment;
  const record = state.experiments.get(experiment);
  if (record?.tally == null || record.allocation?.version !== allocation) return false;
  const { tally, definition, units } = record;
  const lasts =
    definition.unit === 'decision'
      ? state.settings.rewards.windowSeconds * 1000 + HOUR_MS / 60
      : ENDS_AFTER_MS[definition.unit];
  units.touch(unit, variant, state.clock + lasts, (oldest, of) => tally.release(of, oldest));
  tally.add(variant, unit, event);
  return true;
}
