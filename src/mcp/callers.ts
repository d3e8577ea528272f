import { createHash, randomUUID } from 'node:crypto';

/** Who asks, as far as is known. */
export interface Caller {
  readonly catalog: string;
  /** Different for every conversation that can be told from others. */
  readonly sessionId: string;
  readonly unitId?: string;
  readonly userId?: string;
  /** The turn or job that the client says this belongs to; absent: it follows from the pauses between requests. */
  readonly task?: string;
}

/** Where the user is and what the clock there shows; of one request, since both change while a task goes on. */
export interface Whereabouts {
  readonly place?: string;
  readonly utcOffsetMinutes?: number;
}

/** A decision whose tools a caller saw. */
export interface SeenDecision {
  readonly decisionId: string;
  readonly tools: readonly string[];
  /** ms since the epoch. */
  readonly deadline: number;
}

/** What is known about a caller's task. */
export interface Task {
  /** Of this caller alone: others may name tasks of theirs in the same way. */
  readonly id: string;
  readonly caller: Caller;
  /** Newest first. */
  readonly seen: SeenDecision[];
  /** Requests that are being answered. */
  running: number;
  /** When it has ended if nothing is asked until then, ms since the epoch. */
  until: number;
}

/** A caller that asks nothing for so long has ended its task: agents go on within a minute or two, or wait for a person. */
const PAUSE_MS = 5 * 60_000;
/** A question that a call waits for is put to a person: as long as a call is kept that waits. */
const QUESTION_MS = 10 * 60_000;
const MOST_TASKS = 10_000;
const MOST_SEEN = 50;

/**
 * The tasks of callers. MCP does not say when a user's turn begins and ends, so a task is what a conversation asks without a
 * long pause, unless the client names its tasks.
 */
export class Callers {
  /** By caller and named task; those that asked least recently first. */
  readonly #tasks = new Map<string, Task>();
  readonly #now: () => number;
  readonly #onEnd: (task: Task) => void;

  /** @param onEnd is called once for every task, after its pause or when its conversation ends. */
  constructor(now: () => number, onEnd: (task: Task) => void) {
    this.#now = now;
    this.#onEnd = onEnd;
  }

  /** Returns the task that a request of this caller belongs to. */
  taskOf(caller: Caller): Task {
    const key = keyOf(caller);
    const known = this.#tasks.get(key);
    if (known !== undefined && this.#isOver(known)) this.#end(key, known);
    const task = this.#tasks.get(key) ?? { id: taskId(caller), caller, seen: [], running: 0, until: 0 };
    task.until = this.#now() + PAUSE_MS;
    this.#tasks.delete(key);
    this.#tasks.set(key, task);
    const [oldest] = this.#tasks;
    if (this.#tasks.size > MOST_TASKS) this.#end(...oldest);
    return task;
  }

  /**
   * Answers a request of a task, which goes on meanwhile, however long that takes.
   * @param asks whether the answer is a question, which somebody has to think about
   */
  async during<Answer>(
    task: Task,
    work: () => Promise<Answer>,
    asks: (answer: Answer) => boolean,
  ): Promise<Answer> {
    task.running++;
    let pause = PAUSE_MS;
    try {
      const answer = await work();
      if (asks(answer)) pause = QUESTION_MS;
      return answer;
    } finally {
      task.running--;
      task.until = Math.max(task.until, this.#now() + pause);
    }
  }

  /** The caller was shown these tools. */
  saw(task: Task, decision: SeenDecision): void {
    task.seen.unshift(decision);
    task.seen.length = Math.min(task.seen.length, MOST_SEEN);
  }

  /** Returns the caller's newest open decision that showed the tool. */
  newest(task: Task, tool: string): SeenDecision | undefined {
    const now = this.#now();
    return task.seen.find(({ tools, deadline }) => deadline > now && tools.includes(tool));
  }

  /** The conversation has ended, and so have its tasks. */
  end(sessionId: string): void {
    for (const [key, task] of this.#tasks) if (task.caller.sessionId === sessionId) this.#end(key, task);
  }

  /** Ends the tasks of callers that have paused. */
  sweep(): void {
    for (const [key, task] of this.#tasks) if (this.#isOver(task)) this.#end(key, task);
  }

  all(): IterableIterator<Task> {
    return this.#tasks.values();
  }

  #isOver({ running, until }: Task): boolean {
    return running === 0 && until < this.#now();
  }

  #end(key: string, task: Task): void {
    this.#tasks.delete(key);
    this.#onEnd(task);
  }
}

function keyOf({ catalog, sessionId, unitId = '', userId = '', task = '' }: Caller): string {
  return JSON.stringify([catalog, sessionId, unitId, userId, task]);
}

/** A task that a client has named has the same id again after its pause; one that it has not is another each time. */
function taskId({ task, ...caller }: Caller): string {
  if (task === undefined) return `${caller.sessionId.slice(0, 128)}.${randomUUID().slice(0, 8)}`;
  return `${task}.${createHash('sha256').update(keyOf(caller)).digest('hex').slice(0, 16)}`;
}
