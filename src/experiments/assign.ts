import type { CatalogSettings, DetailLevel, SlateMethod } from '../ledger/catalog-settings.ts';
import type { Assignment } from '../ledger/entry.ts';
import type { ContextValue, ExperimentUnit, StartedVariant } from '../ledger/experiment-definition.ts';
import { unitKey } from '../ledger/unit.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { ExperimentRecord } from '../state/experiments/experiment-record.ts';
import type { LearnerVersion } from '../state/learner-version.ts';

/** The part of a request that decides in which experiments it takes part. */
export interface AssignmentRequest {
  readonly sessionId?: string;
  readonly userId?: string;
  readonly unitId?: string;
  readonly context?: Readonly<Record<string, ContextValue>>;
  /** How it wants definitions, and how much of each; absent: whatever the catalog, or a variant, serves. */
  readonly format?: string;
  readonly detail?: DetailLevel;
  /** Who chooses the slate; absent: what the catalog says. */
  readonly slate?: SlateMethod;
}

/** The experiment a request takes part in, and how it is to be served. */
export interface AssignedVariant {
  readonly assignment: Assignment;
  readonly variant: StartedVariant;
  readonly learner: LearnerVersion;
  /** Retrieval order is served: the variant is an apprentice, or was killed. */
  readonly serves: 'ranking' | 'retrieval' | 'killed';
}

export interface AssignmentResult {
  readonly assigned: AssignedVariant | null;
  /** Running experiments that the request fits, but whose kind of unit it does not name. */
  readonly withoutUnit: readonly string[];
  /** Running experiments that have its unit and compare levels of detail, while it says itself which level it wants. */
  readonly ownDetail: readonly string[];
}

const UNASSIGNED: AssignmentResult = { assigned: null, withoutUnit: [], ownDetail: [] };

/**
 * Returns which variant a request gets: the same one for the same unit as long as the shares do not change. A request takes
 * part in at most one experiment; experiments that fit the same requests divide a layer.
 */
export function assign(
  request: AssignmentRequest,
  decisionId: string,
  { experiments, settings, learners }: CatalogState,
): AssignmentResult {
  const { running } = experiments;
  // Under the kill switch, and where ToolScope chooses, all units get the same, so nothing is counted.
  const isSame = settings.killSwitch || (request.slate ?? settings.slate) !== 'policy';
  if (running.length === 0 || isSame) return UNASSIGNED;
  const withoutUnit: string[] = [];
  const ownDetail: string[] = [];
  for (const { division, experiments: records } of running) {
    for (const record of records) {
      const { name, unit: kind, target } = record.definition;
      if (!fits(request.context, target)) continue;
      const unit = unitOf(request, kind, decisionId);
      if (unit === undefined) {
        withoutUnit.push(name);
        continue;
      }
      if (division !== null && division.experimentOf(unit) !== name) continue;
      // Left out in every variant alike, so that what is counted stays comparable.
      if (record.comparesDetail && statedDetail(request) !== undefined) {
        ownDetail.push(name);
        continue;
      }
      const assigned = servedBy(record, record.assignment!.variantOf(unit), unit, learners);
      return { assigned, withoutUnit, ownDetail };
    }
  }
  return { assigned: null, withoutUnit, ownDetail };
}

/** Returns how much of each definition a request is served: what it says itself, else its variant, else the catalog. */
export function detailFor(
  request: AssignmentRequest,
  assigned: AssignedVariant | null,
  { detail }: Pick<CatalogSettings, 'detail'>,
): DetailLevel {
  // A variant that was killed does nothing of its own any more.
  const ofVariant = assigned === null || assigned.serves === 'killed' ? null : assigned.variant.detail;
  return statedDetail(request) ?? ofVariant ?? detail;
}

/** Returns the level of detail that a request says itself; undefined: it leaves it open. */
function statedDetail({ format, detail }: AssignmentRequest): DetailLevel | undefined {
  return format === 'names' ? 'names' : detail;
}

/** Returns the shadow variants of every running experiment that this request fits, also of experiments that do not serve it. */
export function shadowsFor(
  request: AssignmentRequest,
  decisionId: string,
  { experiments, learners }: CatalogState,
): AssignedVariant[] {
  const found: AssignedVariant[] = [];
  for (const { experiments: records } of experiments.running) {
    for (const record of records) {
      if (record.shadows.size === 0 || !fits(request.context, record.definition.target)) continue;
      for (const name of record.shadows.keys()) {
        const shadow = servedBy(record, name, decisionId, learners);
        if (shadow !== null && shadow.serves !== 'killed') found.push(shadow);
      }
    }
  }
  return found;
}

function servedBy(
  record: ExperimentRecord,
  name: string,
  unit: string,
  learners: CatalogState['learners'],
): AssignedVariant | null {
  const { definition, allocation } = record;
  const { version, killed } = record.variants.get(name)!;
  const learner = version === null ? undefined : learners.get(version);
  if (learner === undefined) return null;
  // Running: the start has set its policy.
  const variant = record.variant(name) as StartedVariant;
  return {
    assignment: {
      experiment: definition.name,
      variant: name,
      allocation: allocation!.version,
      unit: unitKey(unit),
    },
    variant,
    learner,
    serves: killed ? 'killed' : variant.mode === 'apprentice' ? 'retrieval' : 'ranking',
  };
}

function unitOf(request: AssignmentRequest, kind: ExperimentUnit, decisionId: string): string | undefined {
  return kind === 'decision' ? decisionId : request[kind];
}

function fits(
  context: AssignmentRequest['context'] = {},
  target: Readonly<Record<string, readonly ContextValue[]>>,
): boolean {
  for (const key in target) {
    if (!Object.hasOwn(context, key) || !target[key].includes(context[key])) return false;
  }
  return true;
}
