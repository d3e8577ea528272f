import type { CaseOutcome } from '../../bandit/policy.ts';
import type { ObservedDecision } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { LearnerVersion } from './learners.ts';
import type { ObservedRecord, ToolReports } from './observed-decisions.ts';
import { exampleOf } from './observed-examples.ts';
import type { ToolRecord } from './tool-table.ts';

/** A tool of this decision was called for the first time, perhaps after the decision had closed. */
export function learnCall(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  tool: ToolRecord,
  reports: ToolReports,
): void {
  const { slot } = tool;
  const index = decision.tools.indexOf(tool.tool.name);
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const example = exampleOf(state, record, decision, index, learner);
    if (example !== null) learner.policy.learn(example, reports.taught, reports.weight);
    learner.policy.countCall(slot, reports.taught);
    const caseId = record.cases.get(learner.version);
    if (caseId === undefined) continue;
    // The 0 that closing gave a shown tool is taken back from memory; A keeps it.
    const earlier = index < decision.shown ? 1 : 0;
    learner.policy.amend(caseId, slot, reports.taught, 1 - reports.taught - earlier);
  }
}

/** The reward of a call that was learned before turned out to be another one. */
export function correctCall(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  tool: ToolRecord,
  before: number,
  reports: ToolReports,
): void {
  const delta = reports.taught - before;
  if (delta === 0) return;
  const { slot } = tool;
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const example = exampleOf(state, record, decision, decision.tools.indexOf(tool.tool.name), learner);
    if (example !== null) learner.policy.correct(example, before, reports.taught, reports.weight);
    learner.policy.recountCall(slot, delta);
    const caseId = record.cases.get(learner.version);
    if (caseId !== undefined) learner.policy.amend(caseId, slot, delta, -delta);
  }
}

/** No more reports are expected: what was shown and not called was of no use, and the case is remembered. */
export function closeDecision(state: CatalogState, record: ObservedRecord, decision: ObservedDecision): void {
  if (record.closed) return;
  record.closed = true;
  if (!decision.learn || record.muted) return;
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const outcomes: CaseOutcome[] = [];
    for (const [index, name] of decision.tools.entries()) {
      const slot = state.tools.find(name)?.slot;
      const reports = record.tools.get(name);
      if (slot === undefined || reports?.silent) continue;
      if (reports?.called) {
        outcomes.push({ slot, reward: reports.taught });
      } else if (index < decision.shown) {
        const example = exampleOf(state, record, decision, index, learner);
        if (example !== null) learner.policy.learn(example, 0, 1);
        outcomes.push({ slot, reward: 0 });
      }
    }
    rememberCase(record, decision, learner, outcomes);
  }
}

/** Nothing was reported: every shown tool is learned with the contract's default reward. */
export function learnDefault(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  reward: number,
): void {
  record.closed = true;
  const taught = Math.min(1, Math.max(0, reward));
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const outcomes: CaseOutcome[] = [];
    for (const [index, name] of decision.tools.slice(0, decision.shown).entries()) {
      const slot = state.tools.find(name)?.slot;
      if (slot === undefined) continue;
      const example = exampleOf(state, record, decision, index, learner);
      if (example !== null) learner.policy.learn(example, taught, 1);
      outcomes.push({ slot, reward: taught });
    }
    rememberCase(record, decision, learner, outcomes);
  }
}

function rememberCase(
  record: ObservedRecord,
  decision: ObservedDecision,
  { policy, version }: LearnerVersion,
  outcomes: readonly CaseOutcome[],
): void {
  if (outcomes.length === 0) return;
  const query = { embedding: decision.embedding, terms: decision.terms };
  const caseId = policy.remember(query, outcomes, decision.at, decision.unit);
  if (caseId >= 0) record.cases.set(version, caseId);
}
