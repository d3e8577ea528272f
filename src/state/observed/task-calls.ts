/** What was reported in a task from one end of it to the next, as somebody may use its id again. */
export interface TaskCalls {
  /** Of the end; infinite: it goes on. */
  readonly endedAt: number;
  /** Whether anything was reported. */
  isReported: boolean;
  /** Tools that were called from any of its slates: no decision of that time learns that they were not used. */
  readonly called: Set<string>;
}

interface Task {
  /** When the last window of its decisions with reports is over by the clock of the fold; ms since the epoch. */
  until: number;
  /** In the order of their ends: at most one that has ended, and one that goes on. */
  spans: TaskCalls[];
}

/** As a snapshot has it; null: a span that goes on. */
export type SavedTask = readonly [
  task: string,
  until: number,
  spans: readonly (readonly [endedAt: number | null, isReported: boolean, called: readonly string[]])[],
];

/** More are not kept: the tasks go first about which nothing was reported for longest. */
const MOST_TASKS = 100_000;

/** Keeps, by key of the task, which tools were called in it. */
export class TasksWithCalls {
  /** In the order of their last reports. */
  readonly #tasks = new Map<string, Task>();

  /** Returns what was reported in the span of a task that a decision of this time belongs to. */
  get(task: string, decidedAt: number): TaskCalls | undefined {
    return this.#tasks.get(task)?.spans.find(({ endedAt }) => decidedAt <= endedAt);
  }

  /**
   * Notes that something was reported about a decision of this task.
   * @param decidedAt when the decision was made
   * @param called tools, as far as any were called
   * @param until when the window of the decision is over by the clock of the fold
   */
  note(task: string, decidedAt: number, called: readonly string[], until: number): void {
    const known = this.#tasks.get(task) ?? { until, spans: [begun()] };
    known.until = Math.max(known.until, until);
    this.#tasks.delete(task);
    this.#tasks.set(task, known);
    const span = this.get(task, decidedAt)!;
    span.isReported = true;
    for (const tool of called) span.called.add(tool);
  }

  /** Notes the end of a task, which is folded once for each of its decisions: what is decided later belongs to a new span. */
  end(task: string, at: number): void {
    const known = this.#tasks.get(task);
    if (known === undefined || known.spans.some(({ endedAt }) => endedAt >= at && endedAt < Infinity)) return;
    known.spans = [{ ...known.spans.at(-1)!, endedAt: at }, begun()];
  }

  /** Drops tasks whose decisions can no longer change. */
  expire(clock: number, graceMs: number): void {
    for (const [task, { until }] of this.#tasks) {
      if (this.#tasks.size <= MOST_TASKS && until + graceMs >= clock) return;
      this.#tasks.delete(task);
    }
  }

  *save(): Generator<SavedTask> {
    for (const [task, { until, spans }] of this.#tasks) {
      const saved = spans.map(
        ({ endedAt, isReported, called }) =>
          [endedAt === Infinity ? null : endedAt, isReported, [...called]] as const,
      );
      yield [task, until, saved];
    }
  }

  restore(tasks: readonly SavedTask[]): void {
    for (const [task, until, saved] of tasks) {
      const spans = saved.map(([endedAt, isReported, called]) => ({
        ...{ endedAt: endedAt ?? Infinity, isReported },
        called: new Set(called),
      }));
      this.#tasks.set(task, { until, spans });
    }
  }
}

function begun(): TaskCalls {
  return { endedAt: Infinity, isReported: false, called: new Set() };
}
