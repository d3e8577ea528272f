import type { CatalogState } from '../catalog-state.ts';
import type { ExperimentRecord } from './experiment-record.ts';

/** Everybody gets the active policy again; what was counted stays. */
export function endExperiment(
  state: CatalogState,
  record: ExperimentRecord,
  status: 'stopped' | 'promoted',
  event: { readonly action: string; readonly actor: string | null; readonly note: string },
): void {
  const wasRunning = record.status === 'running';
  record.status = status;
  record.note({ at: state.clock, ...event });
  if (!wasRunning) return;
  record.endedAt = state.clock;
  state.experiments.divide(record.definition.layer);
  for (const { version } of record.variants.values()) if (version !== null) state.learners.release(version);
}

export function endExperiments(state: CatalogState, note: string): void {
  for (const record of state.experiments.all()) {
    if (record.status !== 'running') continue;
    endExperiment(state, record, 'stopped', { action: 'stop', actor: null, note });
  }
}
