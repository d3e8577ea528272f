import {
  type DiscoveryEntry,
  type ObservationEntry,
  type ObservedDecision,
  type OutcomeReport,
  type SettlementEntry,
  SILENT_OUTCOMES,
  type UnlearnedEntry,
} from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import { creditExperiments } from './experiments/count-experiments.ts';
import type { FoldResult, RewardOutcome, RewardReason, RewardStatus } from './fold-result.ts';
import {
  closeDecision,
  correctCall,
  learnCall,
  mayTeach,
  shownFor,
  type Teaching,
  teachingOf,
} from './learn-decision.ts';
import { learnDiscovery, learnOutcome } from './learn-outcome.ts';
import { type ObservedRecord, reportsOf, type ToolReports } from './observed/observed-record.ts';

/**
 * Folds the rewards of one decision. A called tool is learned at once. When the decision closes, every shown tool that was not
 * called is learned with 0, and the case is added to memory. In a task, a tool may be called from a later slate: there only a
 * report that says so, the end of the task or the deadline closes a decision.
 */
export function* foldObservation(state: CatalogState, entry: ObservationEntry): Generator<void, FoldResult> {
  const decision = asUsable(state, entry.decision);
  if (state.decisions.mayBeDropped(decision)) {
    const reason = isLate(state, decision, entry.at) ? 'after-deadline' : 'record-expired';
    return { kind: 'observation', rewards: refuse(state, entry.reports, 'late', reason) };
  }
  const known = state.decisions.get(decision.id);
  const first = known === undefined;
  const record = known ?? state.decisions.begin(decision, state.clock);
  const teaching = teachingOf(state, record, decision, entry.at);
  if (first) countShown(state, decision);
  const rewards: RewardOutcome[] = [];
  for (const [index, report] of entry.reports.entries()) {
    const earlier = record.rewards.get(report.rewardId);
    const outcome: RewardOutcome =
      earlier === undefined ? yield* applyReport(teaching, report) : repeated(earlier);
    if (earlier === undefined) {
      record.rewards.set(report.rewardId, { ...outcome, tool: report.tool, outcome: report.outcome });
    }
    state.rewards.count(state.clock, report, outcome, {
      decidedAt: decision.at,
      isFirst: first && index === 0,
    });
    rewards.push(outcome);
  }
  const applied = entry.reports.filter((_, index) => rewards[index].status === 'applied');
  creditExperiments(state, record, decision, applied);
  noteInTask(state, record, decision, applied);
  const judged = applied.some(({ tool, value }) =>
    tool === null ? value <= 0 : decision.task === undefined,
  );
  noteOutcome(record, applied);
  const ends =
    (entry.closes && judged) || (decision.task === undefined && isComplete(state, record, decision));
  if (ends) yield* closeDecision(teaching);
  // What was said about the whole decision is known at once, though its tools may be reported still.
  const isWhole = entry.closes && decision.task === undefined && applied.some(({ tool }) => tool === null);
  if (record.closed || isWhole) learnOutcome(teaching);
  state.decisions.keep(record);
  return { kind: 'observation', rewards };
}

/**
 * Returns the decision as it may be used: one that was made before its unit was forgotten is counted, but teaches nothing and is credited to no
 * variant, so that nothing comes back of what was erased.
 */
function asUsable({ forgotten, clock }: CatalogState, decision: ObservedDecision): ObservedDecision {
  return forgotten.has(decision, clock) ? { ...decision, unit: 0, learn: false, assignments: [] } : decision;
}

/** Whether every shown tool was reported, by itself or by a member of its merge. */
function isComplete(state: CatalogState, { tools }: ObservedRecord, decision: ObservedDecision): boolean {
  const reported = new Set(
    Array.from(tools.keys(), (name) => decision.tools[shownFor(state, decision, name)]),
  );
  return decision.tools.slice(0, decision.shown).every((tool) => reported.has(tool));
}

/** Notes what these reports say of the decision as a whole. */
function noteOutcome({ outcome }: ObservedRecord, applied: readonly OutcomeReport[]): void {
  for (const report of applied) {
    if (report.rating !== undefined) outcome.rating = report.rating;
    const isSilent = report.tool !== null || SILENT_OUTCOMES.has(report.outcome);
    if (!isSilent) outcome.whole = Math.min(1, Math.max(0, report.value));
  }
}

/**
 * Folds a discovery: its slate did not suffice. It is counted once for each time, and teaches once for each decision, in whatever order it
 * comes with rewards.
 */
export function foldDiscovery(state: CatalogState, entry: DiscoveryEntry): FoldResult {
  const { rating, added } = entry;
  const decision = asUsable(state, entry.decision);
  if (state.decisions.mayBeDropped(decision)) return { kind: 'discovery', counted: false };
  const known = state.decisions.get(decision.id);
  if (known === undefined) countShown(state, decision);
  const record = known ?? state.decisions.begin(decision, state.clock);
  if (rating !== undefined) record.outcome.rating = rating;
  state.rewards.countDiscovery(
    state.clock,
    learnDiscovery(teachingOf(state, record, decision, entry.at)),
    added,
  );
  state.decisions.keep(record);
  return { kind: 'discovery', counted: true };
}

function noteInTask(
  state: CatalogState,
  { until }: ObservedRecord,
  decision: ObservedDecision,
  applied: readonly OutcomeReport[],
): void {
  const { task, at } = decision;
  if (task === undefined || applied.length === 0) return;
  const calls = applied.filter(({ outcome }) => outcome !== 'not_used');
  const called = calls.map(({ tool }) => tool).filter((tool) => tool !== null);
  // A merged tool of which a member was called was of use.
  const shown = called.map((tool) => decision.tools[shownFor(state, decision, tool)] ?? tool);
  state.tasks.note(task, at, [...new Set([...called, ...shown])], until);
}

function repeated({ rewardId, reason }: RewardOutcome): RewardOutcome {
  return { rewardId, status: 'duplicate', ...(reason !== undefined && { reason }) };
}

/**
 * Folds the deadline of a decision: it closes with what was reported, or is learned with the default reward. An entry from before
 * the deadline was meant for an earlier decision of the same id, and changes nothing.
 */
export function* foldSettlement(state: CatalogState, entry: SettlementEntry): Generator<void, FoldResult> {
  const { defaultReward } = entry;
  const decision = asUsable(state, entry.decision);
  if (entry.ended) return yield* foldEnd(state, entry);
  if (entry.at < decision.deadline) return { kind: 'settlement', closed: false };
  const known = state.decisions.get(decision.id);
  const teaches = isTaught(state, decision, defaultReward);
  if (known === undefined && (!teaches || state.decisions.mayBeDropped(decision)))
    return { kind: 'settlement', closed: false };
  if (known?.closed === true) return { kind: 'settlement', closed: false };
  if (known === undefined) countShown(state, decision);
  const record = known ?? state.decisions.begin(decision, state.clock);
  const teaching = teachingOf(state, record, decision, entry.at);
  if (record.tools.size > 0) {
    yield* closeDecision(teaching);
    learnOutcome(teaching);
  } else if (teaches && !isAnswered(record)) {
    yield* closeDecision(teaching, defaultReward);
    learnOutcome(teaching, defaultReward);
    creditExperiments(state, record, decision, [silence(entry.key, defaultReward, state.clock)]);
  } else record.closed = true;
  state.decisions.keep(record);
  return { kind: 'settlement', closed: true };
}

/** Returns whether a decision on which nobody reported is learned with its default reward; if not, the fold ignores its deadline. */
export function teachesByDefault(
  state: CatalogState,
  { defaultReward, decision }: Pick<SettlementEntry, 'defaultReward' | 'decision'>,
): boolean {
  return isTaught(state, asUsable(state, decision), defaultReward);
}

function isTaught(
  state: CatalogState,
  { learn, fingerprint }: ObservedDecision,
  defaultReward: number | null,
): defaultReward is number {
  return defaultReward !== null && learn && fingerprint === state.fingerprint;
}

/**
 * Folds the end of the task of a decision: it closes, with whatever was reported in the task since it ended before; if nothing
 * was, it stays as it is.
 */
function* foldEnd(state: CatalogState, entry: SettlementEntry): Generator<void, FoldResult> {
  const { at } = entry;
  const decision = asUsable(state, entry.decision);
  const known = state.decisions.get(decision.id);
  const { task } = decision;
  if (task !== undefined) state.tasks.end(task, at);
  const isReported = task !== undefined && state.tasks.get(task, decision.at)?.isReported === true;
  const isOver = isLate(state, decision, at) || state.decisions.mayBeDropped(decision);
  if (!isReported || isOver || known?.closed === true) return { kind: 'settlement', closed: false };
  if (known === undefined) countShown(state, decision);
  const record = known ?? state.decisions.begin(decision, state.clock);
  const teaching = teachingOf(state, record, decision, at);
  yield* closeDecision(teaching);
  learnOutcome(teaching);
  state.decisions.keep(record);
  return { kind: 'settlement', closed: true };
}

/** Returns whether a report of this decision counted. Late and rejected ones are as good as none. */
function isAnswered({ rewards }: ObservedRecord): boolean {
  return [...rewards.values()].some(({ status }) => status === 'applied');
}

/** Returns the report that stands for no report, with the default reward of the contract. */
function silence(rewardId: string, value: number, at: number): OutcomeReport {
  return { rewardId, tool: null, outcome: 'not_used', value, weight: 1, at };
}

/** Returns why a report that is new is not applied; null: it is. */
export function whyNotApplied(
  state: CatalogState,
  { deadline, fingerprint }: Pick<ObservedDecision, 'deadline' | 'fingerprint'>,
  { at, tool }: OutcomeReport,
): RewardReason | null {
  if (isLate(state, { deadline }, at)) return 'after-deadline';
  if (fingerprint !== state.fingerprint) return 'embedder-changed';
  return tool !== null && state.tools.find(tool) === undefined ? 'tool-unknown' : null;
}

function* applyReport(teaching: Teaching, report: OutcomeReport): Generator<void, RewardOutcome> {
  const { state, record, decision } = teaching;
  const { rewardId } = report;
  const contract = state.settings.rewards;
  const reason = whyNotApplied(
    state,
    { deadline: record.deadline, fingerprint: decision.fingerprint },
    report,
  );
  if (reason !== null) return { rewardId, status: reason === 'after-deadline' ? 'late' : 'rejected', reason };
  if (report.tool === null) return { rewardId, status: 'applied', reason: 'no-tool-named' };
  const tool = state.tools.find(report.tool)!;

  const reports = reportsOf(record, report.tool);
  tool.statistics.rewardSum += report.value;
  if (report.outcome === 'not_used') return { rewardId, status: 'applied' };
  tool.statistics.called++;
  if (SILENT_OUTCOMES.has(report.outcome)) {
    tool.statistics.unlearned++;
    if (report.outcome === 'timeout') tool.statistics.timeouts++;
    keepSilent(record, reports);
    return { rewardId, status: 'applied', reason: 'outcome-teaches-nothing' };
  }
  if (report.outcome === 'failure') tool.statistics.failures++;
  else tool.statistics.successes++;

  if (!decision.learn) return { rewardId, status: 'applied', reason: 'learning-off' };
  if (reports.called && contract.aggregation === 'first') {
    return { rewardId, status: 'applied', reason: 'superseded' };
  }
  const before = reports.taught;
  const shown = shownFor(state, decision, report.tool) < decision.shown;
  const after = withValue(reports, report, shown, contract.aggregation);
  const weight = reports.called ? after.weight * Math.abs(after.taught - before) : after.weight;
  if (!mayTeach(teaching, tool.slot, weight)) {
    keepSilent(record, reports);
    return { rewardId, status: 'applied', reason: 'unit-limit' };
  }
  Object.assign(reports, after);
  if (reports.called) yield* correctCall(teaching, tool, before, reports);
  else yield* learnCall(teaching, tool, reports);
  return shown ? { rewardId, status: 'applied' } : { rewardId, status: 'applied', reason: 'tool-not-shown' };
}

/**
 * Weight of a call of a tool that was not in the slate; a call of one that was has weight 1. The agent did not choose it among
 * the others, and such reports are the only way to promote a tool that the router would never show. Chosen on training data:
 * bench/hostile/adversary.ts.
 */
const UNSHOWN_WEIGHT = 0.2;

/** Returns the reports with one more. */
function withValue(
  reports: ToolReports,
  { value, weight }: OutcomeReport,
  shown: boolean,
  aggregation: 'first' | 'last' | 'sum' | 'mean',
): ToolReports {
  const after = { ...reports, count: reports.count + 1, sum: reports.sum + value, last: value };
  if (reports.count === 0) {
    after.first = value;
    // Of the smallest numbers a fifth is 0, which is no weight.
    after.weight = shown ? weight : Math.max(Number.MIN_VALUE, UNSHOWN_WEIGHT * Math.min(1, weight));
  }
  const { first, last, sum, count } = after;
  const whole = { first, last, sum, mean: sum / count }[aggregation];
  // Rewards below 0 are learned as 0; statistics keep them unchanged.
  after.taught = Math.min(1, Math.max(0, whole));
  return after;
}

/** Keeps a tool from being learned as a negative when the decision closes; if it was already, it stays one. */
function keepSilent({ closed }: ObservedRecord, reports: ToolReports): void {
  if (!closed) reports.silent = !reports.called;
}

function countShown(state: CatalogState, decision: ObservedDecision): void {
  for (const name of decision.tools.slice(0, decision.shown)) {
    const tool = state.tools.find(name);
    if (tool !== undefined) tool.statistics.shown++;
  }
}

function isLate(
  { settings }: CatalogState,
  { deadline }: { readonly deadline: number },
  at: number,
): boolean {
  return at > deadline && settings.rewards.onLate !== 'learn';
}

/** Counts reports that could not be joined with a decision, and remembers those that had been accepted. */
export function foldUnlearned(state: CatalogState, entry: UnlearnedEntry): FoldResult {
  refuse(state, entry.rewards, 'rejected', 'decision-expired');
  for (const [code, count] of Object.entries(entry.refused)) {
    state.rewards.countRefused(state.clock, code, count);
  }
  return { kind: 'unlearned' };
}

/** Counts and remembers rewards that cannot be learned because their decision is missing. */
export function refuse(
  state: CatalogState,
  reports: readonly OutcomeReport[],
  status: Extract<RewardStatus, 'late' | 'rejected'>,
  reason: RewardReason,
): RewardOutcome[] {
  return reports.map((report) => {
    const { rewardId } = report;
    const known = state.refused.get(rewardId);
    const outcome: RewardOutcome =
      known === undefined ? { rewardId, status, reason } : { ...known, status: 'duplicate' };
    if (known === undefined) state.refused.add(outcome);
    state.rewards.count(state.clock, report, outcome);
    return outcome;
  });
}
