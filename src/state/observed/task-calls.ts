/** A task about which anything was reported. */
export interface TaskCalls {
  /** When the last window of its decisions with reports is over by the clock of the fold; ms since the epoch. */
  until: number;
  /** Tools that were called from any of its slates: no decision of the task learns that they were not used. */
  readonly called: Set<string>;
}

/** As a snapshot has it. */
export type SavedTask = readonly [task: string, until: number, called: readonly string[]];

/** More are not kept: the tasks go first about which nothing was reported for longest. */
const MOST_TASKS = 100_000;

/** Keeps, by key of the task, which tools were called in it. */
export class TasksWithCalls {
  /** In the order of their last reports. */
  readonly #tasks = new Map<string, TaskCalls>();

  get(task: string): TaskCalls | undefined {
    return this.#tasks.get(task);
  }

  /**
   * Notes that something was reported about a decision of this task.
   * @param called tools, as far as any were called
   * @param until when the window of the decision is over by the clock of the fold
   */
  note(task: string, called: readonly string[], until: number): void {
    const known = this.#tasks.get(task) ?? { until, called: new Set() };
    known.until = Math.max(known.until, until);
    for (const tool of called) known.called.add(tool);
    this.#tasks.delete(task);
    this.#tasks.set(task, known);
  }

  /** Drops tasks whose decisions can no longer change. */
  expire(clock: number, graceMs: number): void {
    for (const [task, { until }] of this.#tasks) {
      if (this.#tasks.size <= MOST_TASKS && until + graceMs >= clock) return;
      this.#tasks.delete(task);
    }
  }

  *save(): Generator<SavedTask> {
    for (const [task, { until, called }] of this.#tasks) yield [task, until, [...called]];
  }

  restore(tasks: readonly SavedTask[]): void {
    for (const [task, until, called] of tasks) this.#tasks.set(task, { until, called: new Set(called) });
  }
}
