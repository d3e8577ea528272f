import type { CallOutcome } from './call.ts';
import { Verdicts } from './verdicts.ts';

export type CallEnd = CallOutcome['kind'];

/** What ends other than `ok` say about the tool; null: it is no end yet. */
const REPORTED: Readonly<Record<Exclude<CallEnd, 'ok'>, SignalReport['outcome'] | null>> = {
  'tool-error': 'failure',
  'invalid-arguments': 'failure',
  'invalid-result': 'failure',
  timeout: 'failure',
  'protocol-error': 'refused',
  unavailable: 'refused',
  cancelled: 'unknown',
  'input-required': null,
  task: null,
};

/** A call that a front passed on. */
export interface SeenCall {
  /** Id of the call, by which its report is told from others. */
  readonly id: string;
  /** Under this name it was shown, and called. */
  readonly tool: string;
  /** The member of a merge that carried the call out, about which it teaches; absent: the tool itself. */
  readonly member?: string;
  /** The decision that it was chosen from. */
  readonly decisionId: string;
  readonly end: CallEnd;
}

/** What a call teaches: a report on its decision, to be sent with this key. */
export interface SignalReport {
  readonly decisionId: string;
  readonly tool: string;
  readonly outcome: 'success' | 'partial' | 'failure' | 'refused' | 'unknown';
  /** 0…1; absent: it follows from the outcome. */
  readonly value?: number;
  readonly weight: number;
  readonly idempotencyKey: string;
}

/** A search that was answered with a decision. */
export interface SeenSearch {
  readonly decisionId: string;
  readonly query: string;
  /** The tools that were shown because of the query: pinned ones, which are in every slate, are none of them. */
  readonly tools: readonly string[];
  /** Until when outcomes of the decision are learned; ms since the epoch. */
  readonly deadline: number;
}

/** A tool that was called from one decision: the newest call that did not fail, else the newest that did. */
interface KeptCall {
  readonly call: SeenCall;
  readonly outcome: 'success' | 'failure';
  /** Searches of the task before it. */
  readonly searches: number;
  /** It is not reported: what comes after it may say something else. */
  held: boolean;
  /** Another tool was called from a later search. */
  left: boolean;
  /** That search was for the same job. */
  redone: boolean;
  /** What an explicit report said, 0…1; null: there was none, or it said nothing about relevance. */
  verdict: number | null;
}

interface TaskSignals {
  searches: number;
  /** By id of the decision, with its number among the searches of the task. */
  readonly decisions: Map<string, SeenSearch & { readonly search: number }>;
  /** By `callKey` of what was called, in the order of the calls. */
  readonly calls: Map<string, KeptCall>;
  /** By `callKey` of what was shown: explicit reports, beside which nothing else is reported. */
  readonly judged: Set<string>;
}

const MOST_TASKS = 10_000;
/** Decisions, and calls of each kind, that are known of one task. */
const MOST_PER_TASK = 256;
/** What is held is reported so long before its window ends. */
const MARGIN_MS = 30_000;

/**
 * Turns what a front sees into reports, for agents that report nothing: docs/rewards.md has the table. It keeps tasks until they end
 * and, per catalog, what explicit reports said; in the memory of this process alone. After a restart calls that were held are not
 * reported, and verdicts are collected anew. Tasks are told apart by their catalog and id alone, so ids of different callers must differ.
 */
export class CallSignals {
  readonly #now: () => number;
  /** By catalog and task; the least recently used first. */
  readonly #tasks = new Map<string, TaskSignals>();
  readonly #verdicts = new Verdicts();

  /** @param now ms since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A search was answered with a decision. Returns the reports of a task that had to make room, if there is one. */
  found(catalog: string, task: string, found: SeenSearch): SignalReport[] {
    const [signals, evicted] = this.#open(catalog, task);
    signals.decisions.set(found.decisionId, { ...found, search: ++signals.searches });
    trim(signals.decisions);
    return evicted;
  }

  /** A call has ended. Returns what is known now: about it, and about calls before it. */
  called(catalog: string, task: string, call: SeenCall): SignalReport[] {
    const outcome = call.end === 'ok' ? 'success' : REPORTED[call.end];
    if (outcome === null) return [];
    const [signals, reports] = this.#open(catalog, task);
    reports.push(...this.#leave(catalog, signals, call));
    const key = callKey({ ...call, tool: call.member ?? call.tool });
    const isJudged = signals.judged.has(callKey(call));
    if (outcome !== 'success' && outcome !== 'failure') {
      if (!isJudged) reports.push(reportOf(call, outcome));
      return reports;
    }
    const before = signals.calls.get(key);
    // Arguments that were wrong at first say nothing about a tool that does its work in the end.
    if (outcome === 'failure' && before?.outcome === 'success' && !before.redone) return reports;
    signals.calls.delete(key);
    const { searches } = signals;
    const verdict = before?.verdict ?? null;
    signals.calls.set(key, { call, outcome, searches, held: !isJudged, left: false, redone: false, verdict });
    for (const [oldest, kept] of signals.calls) {
      if (signals.calls.size <= MOST_PER_TASK) break;
      signals.calls.delete(oldest);
      if (kept.held) reports.push(reportOf(kept.call, kept.outcome));
    }
    return reports;
  }

  /**
   * Somebody reported on a tool: that is what counts.
   * @param about `decisionId` null: the task, hence every call of the tool in it. `value` −1…1; null: it says nothing about relevance
   */
  reported(
    catalog: string,
    task: string,
    about: { readonly tool: string; readonly decisionId: string | null; readonly value: number | null },
  ): void {
    const signals = this.#tasks.get(taskKey(catalog, task));
    if (signals === undefined) return;
    const { tool, decisionId, value } = about;
    for (const id of decisionId === null ? signals.decisions.keys() : [decisionId]) {
      const key = callKey({ decisionId: id, tool });
      signals.judged.add(key);
      for (const kept of signals.calls.values()) {
        if (callKey(kept.call) !== key) continue;
        kept.held = false;
        if (value === null) continue;
        const isFirst = kept.verdict === null;
        kept.verdict = Math.max(0, value);
        if (isFirst && kept.redone) this.#verdicts.count(catalog, kept.verdict);
      }
    }
    trim(signals.judged);
  }

  /**
   * Returns the member of a merge that carried out the newest call of a tool in a task; the tool itself where none did.
   * @param decisionId null: of any decision
   */
  calledAs(catalog: string, task: string, tool: string, decisionId: string | null): string {
    const calls = [...(this.#tasks.get(taskKey(catalog, task))?.calls.values() ?? [])];
    const newest = calls.findLast(
      ({ call }) => call.tool === tool && (decisionId === null || call.decisionId === decisionId),
    );
    return newest?.call.member ?? tool;
  }

  /** A task has ended: calls that were held were of use. */
  ended(catalog: string, task: string): SignalReport[] {
    const key = taskKey(catalog, task);
    const signals = this.#tasks.get(key);
    this.#tasks.delete(key);
    return signals === undefined ? [] : heldReports(signals);
  }

  /** Returns the reports of held calls whose window ends soon; to be asked every few seconds. */
  due(): SignalReport[] {
    const before = this.#now() + MARGIN_MS;
    const reports: SignalReport[] = [];
    for (const signals of this.#tasks.values()) {
      // Of a decision that was forgotten it is not known when its window ends.
      const isDue = ({ decisionId }: SeenCall) =>
        (signals.decisions.get(decisionId)?.deadline ?? 0) <= before;
      reports.push(...heldReports(signals, isDue));
    }
    return reports;
  }

  /** Finds the calls that this one, from a later search, leaves behind: for the same job, or for the next. */
  #leave(catalog: string, { calls, decisions }: TaskSignals, { tool, decisionId }: SeenCall): SignalReport[] {
    const later = decisions.get(decisionId);
    const reports: SignalReport[] = [];
    if (later === undefined) return reports;
    for (const kept of calls.values()) {
      const { call, outcome, searches } = kept;
      if (kept.left || call.tool === tool || later.search <= searches) continue;
      kept.left = true;
      kept.redone = outcome === 'success' && isSameJob(decisions.get(call.decisionId), later, call.tool);
      if (kept.redone && kept.verdict !== null) this.#verdicts.count(catalog, kept.verdict);
      if (kept.held) reports.push(kept.redone ? this.#redoneReport(catalog, call) : reportOf(call, outcome));
      kept.held = false;
    }
    return reports;
  }

  #redoneReport(catalog: string, call: SeenCall): SignalReport {
    const worth = this.#verdicts.worth(catalog);
    return worth === null ? reportOf(call, 'unknown') : reportOf(call, 'partial', worth);
  }

  #open(catalog: string, task: string): [TaskSignals, SignalReport[]] {
    const key = taskKey(catalog, task);
    const signals = this.#tasks.get(key) ?? {
      searches: 0,
      decisions: new Map(),
      calls: new Map(),
      judged: new Set(),
    };
    this.#tasks.delete(key);
    this.#tasks.set(key, signals);
    if (this.#tasks.size <= MOST_TASKS) return [signals, []];
    const [[oldest, evicted]] = this.#tasks;
    this.#tasks.delete(oldest);
    return [signals, heldReports(evicted)];
  }
}

/**
 * Whether a later search goes on with the job for which a tool was called: it has the same words, or shows the tool again. A search
 * that does not even show it is taken for the next job. bench/signals.ts compares this with counting every such search.
 */
function isSameJob(earlier: SeenSearch | undefined, later: SeenSearch, tool: string): boolean {
  return earlier !== undefined && (later.query === earlier.query || later.tools.includes(tool));
}

/** Returns the reports of the calls that are held, which are held no longer. */
function heldReports(
  { calls }: TaskSignals,
  chosen: (call: SeenCall) => boolean = () => true,
): SignalReport[] {
  const reports: SignalReport[] = [];
  for (const kept of calls.values()) {
    if (!kept.held || !chosen(kept.call)) continue;
    kept.held = false;
    reports.push(reportOf(kept.call, kept.outcome));
  }
  return reports;
}

function reportOf(
  { id, decisionId, tool: shown, member: tool = shown }: SeenCall,
  outcome: SignalReport['outcome'],
  value?: number,
): SignalReport {
  const idempotencyKey = `signal/${id}`;
  return { decisionId, tool, outcome, ...(value !== undefined && { value }), weight: 1, idempotencyKey };
}

function callKey({ decisionId, tool }: Pick<SeenCall, 'decisionId' | 'tool'>): string {
  return `${decisionId} ${tool}`;
}

function taskKey(catalog: string, task: string): string {
  return `${catalog} ${task}`;
}

/** Forgets the oldest. */
function trim(some: Map<string, unknown> | Set<string>): void {
  for (const oldest of some.keys()) {
    if (some.size <= MOST_PER_TASK) return;
    some.delete(oldest);
  }
}
