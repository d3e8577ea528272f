import { movedBasisPoints } from '../../../bandit/assignment/allocation.ts';
import {
  type ExperimentDefinition,
  type StartedDefinition,
  type StartedVariant,
  startedDefinition,
} from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';
import { type ExperimentResult, refused } from '../fold-result.ts';
import type { LearnerVersion, Learning } from '../learner-version.ts';
import { identityOf, isSameVariant } from '../policy-settings.ts';
import { type ExperimentRecord, reportOf } from './experiment-record.ts';

/** Starts an experiment: gives every variant its learner. Returns why it was refused, and changes nothing, if it cannot. */
export function startExperiment(
  state: CatalogState,
  record: ExperimentRecord,
  actor: string | null,
): ExperimentResult {
  const { name: experiment, layer } = record.definition;
  if (record.status !== 'draft') {
    return refused('status', `Experiment "${experiment}" is ${record.status}: it can be started once.`);
  }
  const definition = startedDefinition(record.definition, state.settings);
  const obstacle =
    same(record.definition, definition) ?? overlap(state, record) ?? championless(state, definition);
  if (obstacle !== null) return obstacle;
  for (const variant of definition.variants) {
    const { version } = learnerFor(state, experiment, variant);
    state.learners.acquire(version);
    record.variants.get(variant.name)!.version = version;
  }
  record.start(definition, state.clock);
  const versions = definition.variants.map(({ name }) => `${name} ${record.variants.get(name)?.version}`);
  record.note({ at: state.clock, action: 'start', actor, note: `Started with ${versions.join(', ')}.` });
  state.experiments.divide(layer);
  return { kind: 'experiment', moved: 0 };
}

function learnerFor(state: CatalogState, experiment: string, variant: StartedVariant): LearnerVersion {
  const { learners, tools } = state;
  const { policy, mode, learnsFrom, startsFrom, name } = variant;
  const ofItsOwn = mode === 'freeze' || learnsFrom === 'own' || startsFrom !== 'kept';
  if (!ofItsOwn) return learners.shared(policy, tools.vectors, state.slots());
  const own: Learning = learnsFrom === 'own' ? { experiment, variant: name } : 'all';
  const learning = mode === 'freeze' ? 'none' : own;
  const source = startsFrom === 'cold' ? null : keptFor(state, variant);
  return learners.own(policy, learning, source, tools.vectors, state.slots());
}

/** Returns the version that a variant continues: the champion's, else (unless it has to be the champion's) any kept one like it. */
function keptFor({ learners }: CatalogState, { policy, startsFrom }: StartedVariant): LearnerVersion | null {
  const identity = identityOf(policy);
  if (identityOf(learners.active.settings) === identity) return learners.active;
  if (startsFrom === 'champion') return null;
  return learners.current().find(({ settings }) => identityOf(settings) === identity) ?? null;
}

/**
 * Refuses two variants that do the same with the same policy, once defaults are filled in. Two that both name no policy are
 * meant to be the same: they test the experiment itself (A/A).
 *
 * @param variants those of the draft, or those that start
 */
export function same(
  drafted: ExperimentDefinition,
  { variants }: ExperimentDefinition = drafted,
): ExperimentResult | null {
  for (const [i, one] of variants.entries()) {
    const other = variants.find(
      (later, j) =>
        j > i &&
        (drafted.variants[i].policy !== null || drafted.variants[j].policy !== null) &&
        isSameVariant(one, later),
    );
    if (other === undefined) continue;
    const sentence = `Variants "${one.name}" and "${other.name}" have the same policy once defaults are filled in: there is nothing to compare.`;
    return refused('same', sentence);
  }
  return null;
}

/** Refuses a variant that is to continue the champion's learner with another policy or other parameters. */
function championless(state: CatalogState, { variants }: StartedDefinition): ExperimentResult | null {
  const lost = variants.find(
    (variant) => variant.startsFrom === 'champion' && keptFor(state, variant) === null,
  );
  if (lost === undefined) return null;
  const { version } = state.learners.active;
  return refused(
    'start',
    `Variant "${lost.name}" cannot start from the champion ${version}: its policy or parameters are others.`,
  );
}

/** Refuses an experiment that fits the same requests as another one, unless both divide one layer by the same kind of unit. */
function overlap(state: CatalogState, { definition }: ExperimentRecord): ExperimentResult | null {
  for (const other of state.experiments.all()) {
    if (other.status !== 'running') continue;
    const { name, layer, unit, target } = other.definition;
    const reason =
      layer !== definition.layer
        ? !areDisjoint(target, definition.target) && `is in layer "${layer}"`
        : unit !== definition.unit && `assigns by ${unit}`;
    if (reason) {
      return refused(
        'overlap',
        `Experiment "${name}" runs and ${reason}: a request could be in both. Put both into one layer with the same unit, or give them targets that exclude each other.`,
      );
    }
  }
  const taken = state.experiments
    .runningIn(definition.layer)
    .reduce((sum, { definition: { traffic } }) => sum + traffic, 0);
  if (taken + definition.traffic <= 10_000) return null;
  return refused(
    'overlap',
    `Layer "${definition.layer}" has ${(10_000 - taken) / 100} % of its units left; this experiment wants ${definition.traffic / 100} %.`,
  );
}

type Target = ExperimentRecord['definition']['target'];

function areDisjoint(a: Target, b: Target): boolean {
  return Object.keys(a).some(
    (key) => Object.hasOwn(b, key) && !a[key].some((value) => b[key].includes(value)),
  );
}

/** Gives the variants other shares, and returns how many basis points of the units changed their variant. */
export function giveShares(
  state: CatalogState,
  record: ExperimentRecord,
  shares: ReadonlyMap<string, number>,
  action: string,
  actor: string | null,
): number {
  const before = record.allocation;
  record.changeShares(shares, state.clock);
  const moved = before === null ? 0 : movedBasisPoints(before, record.allocation!);
  const list = [...shares].map(([name, share]) => `${name} ${share / 100} %`).join(', ');
  const note = `Shares are ${list}; ${moved / 100} % of the units changed their variant.`;
  record.note({ at: state.clock, action, actor, note });
  return moved;
}

/**
 * Takes out every variant that does more harm than its guardrails tolerate, as the statistics show; its units get the variant
 * that the others are compared with. If no challenger is left, the experiment stops.
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

/** Ends an experiment: all units get the active policy again; what was counted stays. */
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
