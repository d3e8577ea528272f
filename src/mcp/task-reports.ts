import type { CallSignals, SeenCall, SeenSearch, SignalReport } from '../gateway/call-signals.ts';
import type { DecisionReport } from '../rewards/reward-report.ts';
import type { Rewards } from '../rewards/rewards.ts';
import type { Tasks } from '../rewards/tasks.ts';
import type { Task } from './callers.ts';

export interface TaskReportParts {
  readonly signals: CallSignals;
  readonly rewards: Pick<Rewards, 'report'>;
  readonly tasks: Pick<Tasks, 'end'>;
  onError(message: string, error: unknown): void;
}

/** Reports what calls show about tools, so that agents need not report. */
export class TaskReports {
  readonly #parts: TaskReportParts;
  readonly #sending = new Set<Promise<void>>();

  constructor(parts: TaskReportParts) {
    this.#parts = parts;
  }

  /** A search was answered. */
  found({ id, caller }: Task, search: SeenSearch): void {
    this.#send(this.#parts.signals.found(caller.catalog, id, search));
  }

  /** A call of a tool, chosen from this decision, has ended. */
  called({ id, caller }: Task, call: SeenCall): void {
    this.#send(this.#parts.signals.called(caller.catalog, id, call));
  }

  /** Returns the member of a merge that a tool was called as lately, else the tool itself. */
  calledAs({ id, caller }: Task, tool: string, decisionId: string | null): string {
    return this.#parts.signals.calledAs(caller.catalog, id, tool, decisionId);
  }

  /** The agent said itself what became of a tool. @param value null: it says nothing about relevance */
  reported({ id, caller }: Task, tool: string, decisionId: string | null, value: number | null): void {
    this.#parts.signals.reported(caller.catalog, id, { tool, decisionId, value });
  }

  /** A task has ended: what was held back is reported, and tools that were shown and not called count as not used. */
  ended({ id, caller }: Task): void {
    const { signals, tasks } = this.#parts;
    const { catalog, unitId, userId } = caller;
    this.#send(signals.ended(catalog, id), async () => {
      await tasks.end({ task: id, catalog, unitId, userId });
    });
  }

  /** The process closes: what was held back is reported, and the task may go on elsewhere. */
  leave({ id, caller }: Task): void {
    this.#send(this.#parts.signals.ended(caller.catalog, id));
  }

  /** Reports what has to be reported before its window ends. */
  due(): void {
    this.#send(this.#parts.signals.due());
  }

  /** Waits until everything is accepted. */
  async idle(): Promise<void> {
    await Promise.all(this.#sending);
  }

  /** `then` follows unless a store is away: a call may name a decision that there is not, and the others count all the same. */
  #send(reports: readonly SignalReport[], then: () => Promise<void> = async () => {}): void {
    const sent = this.#report(reports)
      .then(then)
      .catch((error: unknown) => this.#failed(error));
    this.#sending.add(sent);
    void sent.finally(() => this.#sending.delete(sent));
  }

  /** @throws Problem unavailable */
  async #report(reports: readonly SignalReport[]): Promise<void> {
    if (reports.length === 0) return;
    const results = await this.#parts.rewards.report(reports as readonly DecisionReport[]);
    const problems = results.flatMap((result) => ('problem' in result ? [result.problem] : []));
    const away = problems.find(({ code }) => code === 'unavailable');
    for (const problem of problems) if (problem !== away) this.#failed(problem);
    if (away !== undefined) throw away;
  }

  #failed(error: unknown): void {
    const { code } = error as { code?: string };
    if (!NOTHING_TO_TEACH.has(String(code)))
      this.#parts.onError('what a call showed about its tool could not be reported', error);
  }
}

/** A task in which nothing was searched for, or whose decisions have expired; a decision that the client made up. */
const NOTHING_TO_TEACH: ReadonlySet<string> = new Set([
  'task-not-found',
  'catalog-not-found',
  'decision-not-found',
]);
