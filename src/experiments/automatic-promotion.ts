import type { ExperimentChange } from '../ledger/experiment-definition.ts';
import type { ExperimentRecord } from '../state/experiments/experiment-record.ts';
import { reportOf } from '../state/experiments/experiment-verdict.ts';

const HOUR_MS = 60 * 60 * 1000;
/** The challenger has this much of the units before it can be promoted, in basis points. */
const HALF = 5000;

/**
 * What an automatic experiment does next by itself; null: wait. Shares rise by plan (so many hours and units), never
 * because a variant is ahead; only the verdict, which is valid at every moment, ends it.
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

/** The present shares have stood for long enough, and enough units have come. */
function hasHeld(record: ExperimentRecord, challenger: string, now: number): boolean {
  const { minimumHours, minimumUnits } = record.definition.automatic!;
  const since = record.sharesSince ?? now;
  const units = record.tally!.sharePeriods().at(-1)!.counts[[...record.shares.keys()].indexOf(challenger)];
  return now - since >= minimumHours * HOUR_MS && units >= minimumUnits;
}
