import type { Assignment, Entry, ExperimentEntry, Exposure, ExposuresEntry } from '../../src/ledger/entry.ts';
import type {
  ExperimentChange,
  ExperimentDefinition,
  VariantDefinition,
} from '../../src/ledger/experiment-definition.ts';
import type { ExperimentResult } from '../../src/state/fold-result.ts';
import { START, type Story } from './entries.ts';

let keys = 0;

export function variant(
  name: string,
  share: number,
  more: Partial<VariantDefinition> = {},
): VariantDefinition {
  return {
    name,
    share,
    policy: { name: 'sc-linucb-memory', parameters: {}, exploration: 'plackett-luce', temperature: 0.03 },
    mode: 'live',
    learnsFrom: 'all',
    startsFrom: 'kept',
    detail: null,
    ...more,
  };
}

export const OTHER_POLICY = {
  name: 'cosine',
  parameters: {},
  exploration: 'greedy',
  temperature: 0.03,
} as const;

export function definition(more: Partial<ExperimentDefinition> = {}): ExperimentDefinition {
  return {
    name: 'trial',
    unit: 'sessionId',
    variants: [variant('old', 5000), variant('new', 5000, { policy: OTHER_POLICY })],
    against: 'old',
    salt: 'default/trial',
    layer: 'ranking',
    traffic: 10_000,
    target: {},
    metric: 'reward',
    minimumLift: 0,
    alpha: 0.05,
    tightestAt: 1000,
    guardrails: [],
    automatic: null,
    ...more,
  };
}

export function change(what: ExperimentChange, name = 'trial'): ExperimentEntry {
  return { kind: 'experiment', key: `experiment/${keys++}`, at: START, name, change: what };
}

export function create(more: Partial<ExperimentDefinition> = {}): ExperimentEntry {
  const made = definition(more);
  return change({ action: 'create', definition: made }, made.name);
}

/** Tells an entry about an experiment; `reason` is null when it was not refused. */
export function move(
  story: Story,
  what: ExperimentChange,
  name = 'trial',
): { reason: string | null; sentence: string } {
  return answer(story, change(what, name));
}

export function answer(story: Story, entry: Entry): { reason: string | null; sentence: string } {
  const outcome = story.tell(entry) as ExperimentResult;
  return outcome.kind === 'experiment' ? { reason: null, sentence: '' } : outcome;
}

export function assignment(unit: number, of: string, more: Partial<Assignment> = {}): Assignment {
  return {
    experiment: 'trial',
    variant: of,
    allocation: 1,
    unit: unit.toString(16).padStart(16, '0'),
    ...more,
  };
}

export function exposures(list: readonly Exposure[], more: Partial<ExposuresEntry> = {}): ExposuresEntry {
  return {
    kind: 'exposures',
    key: `exposures/${keys++}`,
    at: START,
    exposures: list,
    shadows: [],
    decided: [],
    withoutUnit: {},
    ownDetail: {},
    ...more,
  };
}

export function exposure(decisionId: string, to: Assignment, more: Partial<Exposure> = {}): Exposure {
  return { ...to, decisionId, covariate: 0.5, tokens: 100, ...more };
}
