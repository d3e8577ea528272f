import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../catalog/catalog.ts';
import { Problem } from '../errors/problem.ts';
import type { MergeRunChange, MergeRunRequest } from '../ledger/merge-run.ts';
import type { MergeRunResult } from '../state/fold-result.ts';
import type { MergeRun } from '../state/merge-runs.ts';

/**
 * Asks for a run; returns the one that is under way, if there is one.
 * @throws Problem merge-conflict if that was asked something else
 */
export async function startRun(
  catalog: Catalog,
  request: MergeRunRequest,
  actor?: string,
): Promise<MergeRun> {
  const outcome = await submitRun(catalog, { action: 'ask', request }, actor);
  if (outcome.kind === 'merge-run-refused') throw new Error('a run was not taken');
  const { run, isNew } = outcome;
  // Whoever wants what changed gets it from a run that looks at everything.
  const asked = { ...request, touched: run.request.touched };
  const isSame =
    isDeepStrictEqual(asked, run.request) &&
    (request.touched === 'changed' || request.touched === asked.touched);
  if (isNew || isSame) return run;
  throw new Problem(
    'merge-conflict',
    `Run "${run.id}" is under way, and was asked to do something else (${JSON.stringify(run.request)}).`,
    'Wait until it has ended, or cancel it with DELETE …/merges/run.',
  );
}

/** @throws Problem merge-conflict when none is under way */
export async function cancelRun(catalog: Catalog, actor?: string): Promise<MergeRun> {
  const { run } = catalog.state.mergeRuns;
  const outcome =
    run === null
      ? null
      : await submitRun(catalog, { action: 'end', run: run.id, status: 'cancelled' }, actor);
  if (outcome?.kind === 'merge-run') return outcome.run;
  throw new Problem(
    'merge-conflict',
    `No run is under way in catalog "${catalog.name}".`,
    'GET …/merges shows the newest one, and how it ended.',
  );
}

/** Says something of the run of a catalog, and returns what came of it. */
export async function submitRun(
  catalog: Catalog,
  change: MergeRunChange,
  actor?: string,
): Promise<MergeRunResult> {
  const outcome = await catalog.replica.submit({
    ...{ kind: 'merge-run', key: `merge-run/${randomUUID()}`, at: catalog.now(), change },
    ...(actor !== undefined && { actor }),
  });
  if (outcome.kind === 'merge-run' || outcome.kind === 'merge-run-refused') return outcome;
  throw new Error(`a run was answered with ${outcome.kind}`);
}
