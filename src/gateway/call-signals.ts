import type { CallOutcome } from './call.ts';

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
  readonly tool: string;
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

/** The newest call of a tool from one decision that did not fail. */
interface GoodCall {
  readonly call: SeenCall;
  /** Searches of the task before it. */
  readonly searches: number;
  /** It may yet turn out to have been of no use: it is not reported. */
  held: boolean;
  /** A search after it led to another tool. */
  left: boolean;
  /** What an explicit report said, 0…1; null: there was none, or it said nothing about relevance. */
  verdict: number | null;
}

interface TaskSignals {
  searches: number;
  /** By id of the decision: which search of the task it was, and until when its outcomes are learned; ms. */
  readonly decisions: Map<string, { readonly search: number; readonly deadline: number }>;
  /** By `callKey`, in the order of the calls. */
  readonly calls: Map<string, GoodCall>;
  /** Keys of calls with explicit reports: nothing else is reported about them. */
  readonly judged: Set<string>;
}

/** What explicit reports said about calls after which a search led to another tool. */
interface Verdicts {
  count: number;
  /** Sum of their values, 0…1 each. */
  right: number;
}

const MOST_TASKS = 10_000;
/** Decisions, and calls of each kind, that are known of one task. */
const MOST_PER_TASK = 256;
const MOST_CATALOGS = 1_000;
/** With more verdicts they count half, so that the newer ones prevail. */
const MOST_VERDICTS = 1_000;
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
  readonly #verdicts = new Map<string, Verdicts>();

  /** @param now ms since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A search was answered with a decision. Returns the reports of a task that had to make room, if there is one. */
  found(
    catalog: string,
    task: string,
    { decisionId, deadline }: { readonly decisionId: string; readonly deadline: number },
  ): SignalReport[] {
    const [signals, evicted] = this.#open(catalog, task);
    signals.decisions.set(decisionId, { search: ++signals.searches, deadline });
    trim(signals.decisions);
    return evicted;
  }

  /** A call has ended. Returns what is known now: about it, and about calls before it. */
  called(catalog: string, task: string, call: SeenCall): SignalReport[] {
    const outcome = call.end === 'ok' ? 'success' : REPORTED[call.end];
    if (outcome === null) return [];
    const [signals, reports] = this.#open(catalog, task);
    reports.push(...this.#leave(catalog, signals, call));
    const key = callKey(call);
    const isJudged = signals.judged.has(key);
    if (outcome !== 'success') {
      if (!isJudged) reports.push(reportOf(call, outcome));
      return reports;
    }
    const verdict = signals.calls.get(key)?.verdict ?? null;
    signals.calls.delete(key);
    signals.calls.set(key, { call, searches: signals.searches, held: !isJudged, left: false, verdict });
    for (const [oldest, good] of signals.calls) {
      if (signals.calls.size <= MOST_PER_TASK) break;
      signals.calls.delete(oldest);
      if (good.held) reports.push(reportOf(good.call, 'success'));
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
      const good = signals.calls.get(key);
      if (good === undefined) continue;
      good.held = false;
      if (value === null) continue;
      const isFirst = good.verdict === null;
      good.verdict = Math.max(0, value);
      if (isFirst && good.left) this.#count(catalog, good.verdict);
    }
    trim(signals.judged);
  }

  /** A task has ended: calls that were held were of use. */
  ended(catalog: string, task: string): SignalReport[] {
    const key = taskKey(catalog, task);
    const signals = this.#tasks.get(key);
    this.#tasks.delete(key);
    return signals === undefined ? [] : successes(signals);
  }

  /** Returns the reports of held calls whose window ends soon; to be asked every few seconds. */
  due(): SignalReport[] {
    const before = this.#now() + MARGIN_MS;
    const reports: SignalReport[] = [];
    for (const signals of this.#tasks.values()) {
      // Of a decision that was forgotten it is not known when its window ends.
      const isDue = ({ decisionId }: SeenCall) =>
        (signals.decisions.get(decisionId)?.deadline ?? 0) <= before;
      reports.push(...successes(signals, isDue));
    }
    return reports;
  }

  /** Finds the calls after which, as this one shows, a search led to another tool. */
  #leave(catalog: string, { calls, decisions }: TaskSignals, { tool, decisionId }: SeenCall): SignalReport[] {
    const search = decisions.get(decisionId)?.search ?? 0;
    const reports: SignalReport[] = [];
    for (const good of calls.values()) {
      if (good.left || good.call.tool === tool || search <= good.searches) continue;
      good.left = true;
      if (good.verdict !== null) this.#count(catalog, good.verdict);
      if (good.held) reports.push(this.#leftReport(catalog, good.call));
      good.held = false;
    }
    return reports;
  }

  #leftReport(catalog: string, call: SeenCall): SignalReport {
    const verdicts = this.#verdicts.get(catalog);
    if (verdicts === undefined) return reportOf(call, 'unknown');
    // As if five verdicts had come before, of which half were right.
    return reportOf(call, 'partial', (2.5 + verdicts.right) / (5 + verdicts.count));
  }

  #count(catalog: string, worth: number): void {
    const verdicts = this.#verdicts.get(catalog) ?? { count: 0, right: 0 };
    this.#verdicts.delete(catalog);
    this.#verdicts.set(catalog, verdicts);
    verdicts.count++;
    verdicts.right += worth;
    if (verdicts.count > MOST_VERDICTS) {
      verdicts.count /= 2;
      verdicts.right /= 2;
    }
    trim(this.#verdicts, MOST_CATALOGS);
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
    return [signals, successes(evicted)];
  }
}

/** Returns the reports of the calls that are held, which are held no longer. */
function successes({ calls }: TaskSignals, chosen: (call: SeenCall) => boolean = () => true): SignalReport[] {
  const reports: SignalReport[] = [];
  for (const good of calls.values()) {
    if (!good.held || !chosen(good.call)) continue;
    good.held = false;
    reports.push(reportOf(good.call, 'success'));
  }
  return reports;
}

function reportOf(
  { id, decisionId, tool }: SeenCall,
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
function trim(some: Map<string, unknown> | Set<string>, most = MOST_PER_TASK): void {
  for (const oldest of some.keys()) {
    if (some.size <= most) return;
    some.delete(oldest);
  }
}
