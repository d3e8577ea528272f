import type { ForgetEntry } from '../ledger/entry.ts';
import { unitKeyPrefix } from '../ledger/unit.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldOutcome } from './outcome.ts';

/** Erases what was learned about a tool or from a unit. */
export function foldForget(state: CatalogState, entry: ForgetEntry): FoldOutcome {
  let forgotten = 0;
  if (entry.tool !== undefined) {
    const record = state.tools.find(entry.tool);
    if (record !== undefined) {
      for (const { policy } of state.learners.all()) policy.forgetTool(record.slot);
      state.tools.clearStatistics(record);
      forgotten++;
    }
  }
  if (entry.unit !== undefined) {
    for (const { policy } of state.learners.all()) forgotten += policy.forgetUnit(entry.unit);
    for (const { units, tally } of state.experiments.all()) {
      units.forget(unitKeyPrefix(entry.unit), (unit, variant) => tally?.release(variant, unit));
    }
  }
  return { kind: 'forget', forgotten };
}
