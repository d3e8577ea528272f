import type { ShadowComparison } from '../../ledger/entry.ts';
import type { CatalogState } from '../catalog-state.ts';
import type { ExperimentTable } from './experiment-table.ts';

/**
 * Item-level comparison: of the tools that were called with success, how many were in the slate that a shadow would have
 * shown, and how many in the one that was served.
 */
export function creditShadows(table: ExperimentTable, decisionId: string, called: readonly string[]): void {
  if (called.length === 0) return;
  for (const comparison of table.shadowsOf(decisionId)) creditShadow(table, comparison, called);
}

/** A shadow has ranked. Rewards may have come before: a shadow takes its time. */
export function countShadow(state: CatalogState, comparison: ShadowComparison): void {
  const { decisionId, experiment, variant, slate, served } = comparison;
  const totals = state.experiments.get(experiment)?.shadows.get(variant);
  if (totals === undefined) return;
  totals.decisions++;
  if (served.length > 0)
    totals.overlap += served.filter((tool) => slate.includes(tool)).length / served.length;
  const known = state.decisions.get(decisionId);
  if (known !== undefined) {
    const called = [...known.tools]
      .filter(([, { called, last }]) => called && last > 0)
      .map(([tool]) => tool);
    creditShadow(state.experiments, comparison, called);
  }
  state.experiments.keepShadow(comparison);
}

function creditShadow(
  table: ExperimentTable,
  { experiment, variant, slate, served }: ShadowComparison,
  called: readonly string[],
): void {
  const totals = table.get(experiment)?.shadows.get(variant);
  if (totals === undefined) return;
  totals.successes += called.length;
  totals.hits += called.filter((tool) => slate.includes(tool)).length;
  totals.servedHits += called.filter((tool) => served.includes(tool)).length;
}
