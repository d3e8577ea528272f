import type { CatalogState } from '../catalog-state.ts';
import { endExperiment } from './end-experiment.ts';
import type { ExperimentRecord } from './experiment-record.ts';
import { reportOf } from './experiment-verdict.ts';
import { giveShares } from './fold-experiment.ts';

/**
 * Takes every variant out that is shown to do more harm than its guardrails tolerate; its units go to the variant that
 * the others are compared with. If nobody is left to compare, the experiment stops.
 */
export function watchGuardrails(state: CatalogState, experiment: string): void {
  const record = state.experiments.get(experiment);
  if (record?.tally == null || record.status !== 'running' || record.definition.guardrails.length === 0)
    return;
  const { guardrails } = reportOf(record, record.tally);
  for (const { variant, metric, state: found, atLeast } of guardrails) {
    const inPlay = record.variants.get(variant);
    if (found !== 'breached' || inPlay === undefined || inPlay.outBecause !== null) continue;
    inPlay.outBecause = `${metric} is at least ${Number(atLeast.toPrecision(3))} worse than in "${record.definition.against}".`;
    takeOut(state, record, variant, inPlay.outBecause);
  }
}

function takeOut(state: CatalogState, record: ExperimentRecord, variant: string, because: string): void {
  const { against } = record.definition;
  record.note({
    at: state.clock,
    action: 'guardrail',
    actor: null,
    note: `"${variant}" was taken out: ${because}`,
  });
  const others = [...record.variants].filter(
    ([name, { outBecause }]) => name !== against && record.shares.has(name) && outBecause === null,
  );
  if (others.length === 0) {
    const note = 'Stopped: a guardrail took the last challenger out.';
    endExperiment(state, record, 'stopped', { action: 'stop', actor: null, note });
    return;
  }
  const shares = new Map(record.shares);
  shares.set(against, (shares.get(against) ?? 0) + (shares.get(variant) ?? 0));
  shares.set(variant, 0);
  giveShares(state, record, shares, 'guardrail', null);
}
