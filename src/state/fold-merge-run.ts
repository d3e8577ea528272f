import type { MergeRunEntry, Position } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { MergeRunResult } from './fold-result.ts';
import type { MergeRun } from './merge-runs.ts';

/** A run whose process died so often while it ran may be the cause. */
const MAX_INTERRUPTIONS = 3;

/** Asks for a run, or takes in what one says of itself. What an older process, or one of another run, says is refused. */
export function foldMergeRun(
  state: CatalogState,
  { change, at }: MergeRunEntry,
  position: Position,
): MergeRunResult {
  const { mergeRuns } = state;
  const { run } = mergeRuns;
  if (change.action === 'ask') {
    if (run !== null && run.endedAt === null) return { kind: 'merge-run', run, isNew: false };
    const asked: MergeRun = {
      ...{
        id: `run-${position}`,
        position,
        request: change.request,
        status: 'queued',
        proposals: 0,
        askedAt: at,
      },
      ...{ progress: 0, pairs: 0, judged: 0, startedAt: null, endedAt: null, error: null },
      ...{ attempt: null, revision: null, interruptions: 0 },
    };
    mergeRuns.run = asked;
    return { kind: 'merge-run', run: asked, isNew: true };
  }
  const isOther = run?.id !== change.run || run.endedAt !== null;
  if (isOther || ('attempt' in change && change.attempt !== run.attempt))
    return { kind: 'merge-run-refused' };
  mergeRuns.run = changed(run, change, at, position, state.revision);
  if (change.action === 'end' && change.status === 'succeeded') {
    mergeRuns.succeeded(mergeRuns.run, state.fingerprint);
    mergeRuns.lookAlikes = change.lookAlikes ?? [];
  }
  return { kind: 'merge-run', run: mergeRuns.run, isNew: false };
}

function changed(
  run: MergeRun,
  change: Exclude<MergeRunEntry['change'], { action: 'ask' }>,
  at: number,
  position: Position,
  revision: string,
): MergeRun {
  switch (change.action) {
    case 'begin': {
      const interruptions = run.interruptions + Number(run.status === 'running');
      if (interruptions >= MAX_INTERRUPTIONS) {
        const error = `It was interrupted ${MAX_INTERRUPTIONS} times before it was done: the process ended, or its store was away.`;
        return { ...run, status: 'failed', interruptions, endedAt: at, error };
      }
      const startedAt = run.startedAt ?? at;
      return {
        ...run,
        status: 'running',
        interruptions,
        startedAt,
        attempt: position,
        revision,
        progress: 0,
      };
    }
    case 'progress': {
      const { progress, pairs, judged } = change;
      return { ...run, progress, pairs, judged };
    }
    case 'leave':
      return { ...run, status: 'queued', progress: 0 };
    case 'end': {
      const { status, error = null, open, proposals = run.proposals } = change;
      const progress = status === 'succeeded' ? 1 : run.progress;
      return { ...run, status, error, proposals, progress, endedAt: at, ...(open !== undefined && { open }) };
    }
  }
}
