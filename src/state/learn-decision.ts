import { chosenContext } from '../../bandit/chosen-context.ts';
import type { Candidates, CaseOutcome, Example } from '../../bandit/policy.ts';
import { SharedQuery } from '../../bandit/shared-query.ts';
import type { ObservedDecision } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { LearnerVersion } from './learner-version.ts';
import { type ObservedRecord, reportsOf, type ToolReports } from './observed/observed-record.ts';
import type { ToolRecord } from './tool-table.ts';

/** A decision from which the learners of a catalog are taught. */
export interface Teaching {
  readonly state: CatalogState;
  readonly record: ObservedRecord;
  readonly decision: ObservedDecision;
  readonly query: SharedQuery;
}

/**
 * Returns the decision with the forms of its query. What was chosen of a context is no later than what is told of it, so that the clock of the process that
 * decided, where it is far ahead, makes no habit old.
 * @param told when the entry was accepted that tells of it, ms since the epoch
 */
export function teachingOf(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  told: number,
): Teaching {
  const { embedding, terms, unit, at } = decision;
  const context = chosenContext(unit, Math.min(at, told), decision.context);
  return { state, record, decision, query: new SharedQuery({ embedding, terms, context }) };
}

/** Returns whether outcomes of this unit may still be learned for this tool; if so, its weight is used up. */
export function mayTeach({ state, decision }: Teaching, slot: number, weight: number): boolean {
  const { unit } = decision;
  const { clock, limits, rewards, settings } = state;
  if (limits.spend(unit, slot, weight, clock, settings.rewards.unitHourlyWeight)) return true;
  rewards.countOverLimit(clock);
  return false;
}

/** Learns the first call of a tool of this decision, which may come after the decision has closed. */
export function* learnCall(
  teaching: Teaching,
  tool: ToolRecord,
  reports: ToolReports,
): Generator<void, void> {
  const { state, record, decision } = teaching;
  const { slot } = tool;
  const { taught, weight } = reports;
  const index = shownFor(state, decision, tool.tool.name);
  const shown = decision.tools[index];
  const isItself = index < 0 || shown === tool.tool.name;
  // Memory takes back what the tool was taught when the decision closed; the ridge cannot.
  const earlier = isItself && index < decision.shown && !reports.silent ? 1 : 0;
  const positives = weight * taught - earlier * record.closedWith;
  const negatives = weight * (1 - taught) - earlier * (1 - record.closedWith);
  reports.called = true;
  reports.silent = false;
  const standsIn = isItself ? null : takenBack(teaching, shown);
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const example = exampleOf(teaching, index, learner, slot);
    if (example !== null) learner.policy.learn(example, taught, weight);
    learner.policy.countCall(slot, taught, weight);
    const caseId = record.cases.get(learner.version);
    if (caseId !== undefined) {
      learner.policy.amend(caseId, slot, positives, negatives, decision.unit);
      if (standsIn !== null) {
        const { closedWith } = record;
        learner.policy.amend(caseId, standsIn, -closedWith, closedWith - 1, decision.unit);
      }
    }
    yield;
  }
}

/**
 * Returns the slot of the shown tool for which a member of its merge was called, if memory has it as not called; from now on it is as good as
 * called. Null: there is nothing to take back.
 */
function takenBack({ state, record }: Teaching, shown: string): number | null {
  const slot = state.tools.find(shown)?.slot;
  if (!record.closed || slot === undefined) return null;
  const reports = reportsOf(record, shown);
  if (reports.called || reports.silent) return null;
  reports.silent = true;
  return slot;
}

/**
 * Returns the index of what was shown when this tool was called: the tool itself, or a merged one that it is a member of. Others, which
 * were not shown, have their own index.
 */
export function shownFor(
  { merges }: CatalogState,
  { tools, shown, merged }: ObservedDecision,
  name: string,
): number {
  const index = tools.indexOf(name);
  if (merged === undefined || (index >= 0 && index < shown)) return index;
  for (let at = 0; at < shown; at++) {
    if (Object.hasOwn(merged, tools[at]) && merges.has(merged[tools[at]], name)) return at;
  }
  return index;
}

/** Corrects the reward of a call that was learned before. */
export function* correctCall(
  teaching: Teaching,
  tool: ToolRecord,
  before: number,
  reports: ToolReports,
): Generator<void, void> {
  const { state, record, decision } = teaching;
  const delta = reports.taught - before;
  if (delta === 0) return;
  const weighted = reports.weight * delta;
  const { slot } = tool;
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    const example = exampleOf(teaching, shownFor(state, decision, tool.tool.name), learner, slot);
    if (example !== null) learner.policy.correct(example, before, reports.taught, reports.weight);
    learner.policy.recountCall(slot, weighted);
    const caseId = record.cases.get(learner.version);
    if (caseId !== undefined) learner.policy.amend(caseId, slot, weighted, -weighted, decision.unit);
    yield;
  }
}

/** Names of the shown tools of which a member was called in their place. */
function calledByMembers({ state, record, decision }: Teaching): ReadonlySet<string> {
  const answered = new Set<string>();
  if (decision.merged === undefined) return answered;
  for (const [name, { called, silent }] of record.tools) {
    if (called || silent) answered.add(decision.tools[shownFor(state, decision, name)]);
  }
  return answered;
}

/** What is learned from one tool of a decision. */
interface Lesson extends CaseOutcome {
  /** Index among the tools of the decision; absent for a call, which the ridge has learned already. */
  readonly index?: number;
}

/**
 * Closes a decision, for which no more reports are expected: tools that were shown and not called are learned with `silence`, and
 * the case is added to memory. A tool that was called from another slate of the task was of use, and is not learned here.
 * @param silence the default reward of the contract where nothing at all was reported; else 0
 */
export function* closeDecision(teaching: Teaching, silence?: number): Generator<void, void> {
  const { state, record, decision } = teaching;
  if (record.closed) return;
  record.closed = true;
  record.closedWith = Math.min(1, Math.max(0, silence ?? 0));
  // A decision about the vectors of another embedder cannot be learned.
  if (!decision.learn || decision.fingerprint !== state.fingerprint) return;
  const lessons: Lesson[] = [];
  const slate = decision.tools.slice(0, decision.shown);
  const { task, at } = decision;
  const answered = calledByMembers(teaching);
  const calledElsewhere = task === undefined ? undefined : state.tasks.get(task, at)?.called;
  // The record has the calls of all reports, the decision beside its slate only those of the last ones.
  for (const name of new Set([...slate, ...record.tools.keys()])) {
    const index = slate.indexOf(name);
    const slot = state.tools.find(name)?.slot;
    const reports = record.tools.get(name);
    if (slot === undefined) continue;
    if (reports?.called) lessons.push({ slot, reward: reports.taught, weight: reports.weight });
    else if (index >= 0 && !reports?.silent && !answered.has(name)) {
      if (!calledElsewhere?.has(name) && mayTeach(teaching, slot, 1))
        lessons.push({ index, slot, reward: record.closedWith });
      else reportsOf(record, name).silent = true;
    }
  }
  noteConfusion(teaching, lessons);
  yield* teach(teaching, lessons);
}

/** Tools further behind in the slate than this were shown because something had to be. */
const CONFUSED_RANKS = 8;
/** Least share of the retrieval score of the called tool that another one has, so that the query is taken to fit both. */
const NEARLY = 0.9;
/** Least reward of a call that was right. */
const RIGHT = 0.5;

/** Notes for each call that was right which tools were shown beside it, fit the query as well, and were not called. */
function noteConfusion({ state, decision }: Teaching, lessons: readonly Lesson[]): void {
  const { retrieval } = decision.columns;
  const { tools, shown } = decision;
  for (const call of lessons) {
    if (call.index !== undefined || call.reward < RIGHT) continue;
    const at = tools.findIndex((name, i) => i < shown && state.tools.find(name)?.slot === call.slot);
    // Of a tool that was not shown it is not known how well it fits; the slate was what fits best.
    const least = at < 0 ? Number.NEGATIVE_INFINITY : NEARLY * retrieval[at];
    for (const { index, slot } of lessons) {
      if (index !== undefined && index < CONFUSED_RANKS && retrieval[index] >= least) {
        state.confusable.note(call.slot, slot);
      }
    }
  }
}

function* teach(teaching: Teaching, lessons: readonly Lesson[]): Generator<void, void> {
  const { state, decision } = teaching;
  for (const learner of state.learners.taughtBy(decision.assignments)) {
    for (const { index, slot, reward } of lessons) {
      if (index === undefined) continue;
      const example = exampleOf(teaching, index, learner, slot);
      if (example !== null) learner.policy.learn(example, reward, 1);
      yield;
    }
    rememberCase(teaching, learner, lessons);
  }
}

function rememberCase(
  { record, decision, query }: Teaching,
  { policy, version }: LearnerVersion,
  outcomes: readonly CaseOutcome[],
): void {
  if (outcomes.length === 0 || !isFiniteQuery(query)) return;
  const caseId = policy.remember(query, outcomes, decision.at, decision.unit);
  if (caseId >= 0) record.cases.set(version, caseId);
}

/**
 * Returns x of one tool of a decision for one version of the policy, as it was at decision time; null for a tool that was no
 * candidate then, or that is unknown now, and where a number is not finite.
 * @param slot of the member that was called in place of what was shown
 */
function exampleOf(
  teaching: Teaching,
  index: number,
  learner: LearnerVersion,
  slot = teaching.state.tools.find(teaching.decision.tools[index] ?? '')?.slot,
): Example | null {
  const { decision, query } = teaching;
  const similarity = index < 0 ? Number.NaN : decision.columns.similarity[index];
  if (slot === undefined || Number.isNaN(similarity)) return null;
  const features = featuresOf(teaching, learner);
  const width = learner.policy.extras.length;
  if (features.length < (index + 1) * width) return null;
  const extras = features.subarray(index * width, (index + 1) * width);
  // Nothing can be learned from what is not a number, and the fold must not stop at it: the entry is in the ledger.
  if (!isFiniteVector(extras) || !isFiniteQuery(query)) return null;
  return { query, slot, similarity, extras };
}

/** By which a query keeps whether all of its numbers are finite. */
const FINITE = {};

function isFiniteQuery(query: SharedQuery): boolean {
  return query.form(FINITE, () => isFiniteVector(query.embedding) && isFiniteVector(query.terms.weights));
}

function isFiniteVector(vector: Float32Array | null): boolean {
  // Not `every`, which calls a function for each of them.
  for (let i = 0; i < (vector?.length ?? 0); i++) if (!Number.isFinite(vector![i])) return false;
  return true;
}

/** Returns the features that were logged with the decision, or computes them once and keeps them with the record. */
function featuresOf(
  { state, record, decision, query }: Teaching,
  { version, policy }: LearnerVersion,
): Float32Array {
  const logged = decision.features[version] ?? record.features.get(version);
  if (logged !== undefined) return logged;
  const features = policy.features(query, shownCandidates(state, decision), policy.recall(query));
  record.features.set(version, features);
  return features;
}

/** Returns the shown tools as candidates; a tool that is gone keeps its row, from which nothing is learned. */
function shownCandidates(state: CatalogState, decision: ObservedDecision): Candidates {
  const { columns, shown } = decision;
  const names = decision.tools.slice(0, shown);
  return {
    slots: Int32Array.from(names, (name) => state.tools.find(name)?.slot ?? 0),
    lexical: new Float64Array(columns.lexical.subarray(0, shown)),
    dense: new Float64Array(columns.dense.subarray(0, shown)),
    base: new Float64Array(columns.retrieval.subarray(0, shown)),
    similarity: new Float64Array(columns.similarity.subarray(0, shown)),
    ...(decision.merged !== undefined && { pools: state.merges }),
  };
}
