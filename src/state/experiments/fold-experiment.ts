import type { ExperimentEntry } from '../../ledger/entry.ts';
import type {
  ExperimentChange,
  ExperimentDefinition,
  StartedVariant,
} from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';
import { type ExperimentResult, refused } from '../fold-result.ts';
import { ExperimentRecord, reportOf } from './experiment-record.ts';
import { endExperiment, giveShares, same, startExperiment } from './run-experiment.ts';

/** Largest number of experiments per catalog; each needs a learner or two while it runs. */
const MAX_EXPERIMENTS = 1000;

/** Creates or changes an experiment, or returns why it was refused. */
export function foldExperiment(state: CatalogState, entry: ExperimentEntry): ExperimentResult {
  const { name, change } = entry;
  const actor = entry.actor ?? null;
  if (change.action === 'create') return create(state, change.definition, actor);
  const record = state.experiments.get(name);
  if (record === undefined) return refused('unknown', `There is no experiment "${name}".`);
  const isAsExpected = record.status === 'running' && record.allocation?.version === entry.ifAllocation;
  if (entry.ifAllocation !== undefined && !isAsExpected) {
    return refused('status', `Experiment "${name}" was changed by another request meanwhile.`);
  }
  switch (change.action) {
    case 'start':
      return startExperiment(state, record, actor);
    case 'stop':
      return stop(state, record, actor);
    case 'promote':
      return promote(state, record, change.variant, actor);
    case 'shares':
      return changeShares(state, record, change, actor);
    case 'kill':
      return kill(state, record, change.variant, actor);
  }
}

function create(
  state: CatalogState,
  definition: ExperimentDefinition,
  actor: string | null,
): ExperimentResult {
  const { name } = definition;
  if (state.experiments.get(name) !== undefined) {
    return refused('exists', `There is an experiment "${name}" already; names are not used twice.`);
  }
  if (state.experiments.size >= MAX_EXPERIMENTS) {
    return refused('too-many', `This catalog has ${MAX_EXPERIMENTS} experiments already.`);
  }
  const obstacle = same(definition);
  if (obstacle !== null) return obstacle;
  const record = new ExperimentRecord(definition);
  record.note({ at: state.clock, action: 'create', actor, note: 'Created.' });
  state.experiments.add(record);
  return { kind: 'experiment', moved: 0 };
}

function stop(state: CatalogState, record: ExperimentRecord, actor: string | null): ExperimentResult {
  if (record.status !== 'running') return wrongStatus(record, 'stopped', 'running');
  const note = 'Stopped: all units get the active policy.';
  endExperiment(state, record, 'stopped', { action: 'stop', actor, note });
  return { kind: 'experiment', moved: 10_000 };
}

function promote(
  state: CatalogState,
  record: ExperimentRecord,
  named: string | null,
  actor: string | null,
): ExperimentResult {
  const { definition, tally, status } = record;
  if (tally === null || status === 'promoted') return wrongStatus(record, 'promoted', 'running or stopped');
  if (named !== null && record.variant(named) === undefined) return unknownVariant(record, named);
  const { srm, winner, reason } = reportOf(record, tally);
  if (!srm.ok) return refused('sample-ratio', reason);
  const variant = named ?? winner;
  if (variant === null) {
    return refused('no-winner', `Experiment "${definition.name}" has no winner: ${reason}`);
  }
  const version = record.variants.get(variant)?.version ?? null;
  // It was started, which has set its policy.
  const { policy, detail } = record.variant(variant) as StartedVariant;
  const active = version === null ? null : state.learners.activateVersion(version, policy);
  if (active === null) {
    return refused(
      'status',
      `The learner of variant "${variant}" is not kept any more; nothing was changed.`,
    );
  }
  state.settings = { ...state.settings, policy, ...(detail !== null && { detail }) };
  record.promoted = variant;
  const level = detail === null ? '' : `, definitions are served with detail "${detail}"`;
  const note = `"${variant}" (${active.version}) is the active policy now${level}.`;
  endExperiment(state, record, 'promoted', { action: 'promote', actor, note });
  return { kind: 'experiment', moved: 10_000 };
}

function changeShares(
  state: CatalogState,
  record: ExperimentRecord,
  { shares }: ExperimentChange & { action: 'shares' },
  actor: string | null,
): ExperimentResult {
  if (record.status !== 'running' && record.status !== 'draft') {
    return wrongStatus(record, 'given other shares', 'running or draft');
  }
  const unknown = Object.keys(shares).find((name) => !record.shares.has(name));
  if (unknown !== undefined) return unknownVariant(record, unknown);
  const out = [...record.variants].find(([name, { outBecause }]) => outBecause !== null && shares[name] > 0);
  if (out !== undefined) {
    return refused('shares', `Variant "${out[0]}" was taken out: ${out[1].outBecause}`);
  }
  const complete = new Map([...record.shares.keys()].map((name) => [name, shares[name] ?? 0]));
  const total = [...complete.values()].reduce((sum, share) => sum + share, 0);
  if (total !== 10_000) {
    return refused('shares', `The shares add up to ${total / 100} %; they have to add up to 100 %.`);
  }
  return { kind: 'experiment', moved: giveShares(state, record, complete, 'shares', actor) };
}

function kill(
  state: CatalogState,
  record: ExperimentRecord,
  named: string | null,
  actor: string | null,
): ExperimentResult {
  if (record.status !== 'running') return wrongStatus(record, 'killed', 'running');
  if (named !== null && record.variant(named) === undefined) return unknownVariant(record, named);
  for (const [name, variant] of record.variants) {
    if (named === null || name === named) variant.killed = true;
  }
  const who = named === null ? 'All variants serve' : `"${named}" serves`;
  record.note({ at: state.clock, action: 'kill', actor, note: `${who} retrieval order.` });
  return { kind: 'experiment', moved: 0 };
}

function wrongStatus(record: ExperimentRecord, what: string, wanted: string): ExperimentResult {
  const { status, definition } = record;
  return refused(
    'status',
    `Experiment "${definition.name}" is ${status} and cannot be ${what}: only one that is ${wanted} can.`,
  );
}

function unknownVariant(record: ExperimentRecord, name: string): ExperimentResult {
  const names = record.definition.variants.map((variant) => `"${variant.name}"`).join(', ');
  return refused(
    'variant',
    `Experiment "${record.definition.name}" has no variant "${name}" of that kind. There are ${names}.`,
  );
}
