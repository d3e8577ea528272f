import { taskIdKey } from '../ledger/unit.ts';
import { TASK_DECISIONS } from './decision-log.ts';

/** A decision that was made in a task, or in a thread, whose key is then in the place of the task's, and shown, and when its window closes; ms since the epoch. */
export interface TaskDecision {
  readonly task: string;
  readonly id: string;
  readonly deadline: number;
}

/** Each takes some three hundred bytes. */
const MOST_DECISIONS = 100_000;

/**
 * Finds the decisions of a task, in memory: those whose rewards may still be learned, and at most so many of them. It is written
 * nowhere, since it follows from the log.
 */
export class TaskIndex {
  /** By task and id, in the order in which they were shown, or more was discovered in them. */
  readonly #all = new Map<string, TaskDecision>();
  /** Ids by key of the task, and by key of the task id alone; oldest first. */
  readonly #ids = new Map<string, string[]>();

  /** Adds a decision as the newest one, also when it is there. @param dueAfter decisions that were due before this are dropped; ms since the epoch */
  add(decision: TaskDecision, dueAfter: number): void {
    const entry = entryOf(decision);
    if (this.#all.delete(entry)) this.#forget(decision);
    this.#all.set(entry, decision);
    for (const key of keysOf(decision)) {
      const ids = this.#ids.get(key) ?? [];
      this.#ids.set(key, ids);
      if (ids.push(decision.id) > TASK_DECISIONS) ids.shift();
    }
    for (const oldest of this.#all.values()) {
      if (this.#all.size <= MOST_DECISIONS && oldest.deadline >= dueAfter) break;
      this.#drop(oldest);
    }
  }

  /** Returns ids, newest first. */
  find(key: string): string[] {
    return [...(this.#ids.get(key) ?? [])].reverse();
  }

  #drop(decision: TaskDecision): void {
    this.#all.delete(entryOf(decision));
    this.#forget(decision);
  }

  #forget(decision: TaskDecision): void {
    for (const key of keysOf(decision)) {
      const ids = this.#ids.get(key);
      // It is the oldest mostly; or the task has forgotten it already.
      const at = ids?.indexOf(decision.id) ?? -1;
      if (at >= 0) ids!.splice(at, 1);
      if (ids?.length === 0) this.#ids.delete(key);
    }
  }
}

function entryOf({ task, id }: TaskDecision): string {
  return `${task}/${id}`;
}

function keysOf({ task }: TaskDecision): string[] {
  const ofId = taskIdKey(task);
  return ofId === task ? [task] : [task, ofId];
}
