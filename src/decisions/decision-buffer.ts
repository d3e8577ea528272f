import { type Decision, headOf } from './decision.ts';
import { encodeDecision } from './decision-codec.ts';

/** Decisions that wait while Redis is away; with more of them routing answers 503. */
const MAX_WAITING = 10_000;
const RETRY_MS = 250;
const FLUSH_BATCH = 64;
/**
 * A Redis that takes the place of a broken one may lack its last moments. Decisions that were written at most so long ago, and
 * no more than so many, are written again when the connection is back.
 */
const RECENT_MS = 10_000;
const MAX_RECENT = 5_000;

/**
 * A decision as it was appended. The same object while it waits and after it was written, so that both see an activation. It keeps
 * the decision as bytes, because objects that live for seconds are copied several times by the garbage collector.
 */
export interface BufferedDecision extends Pick<Decision, 'id' | 'at' | 'task' | 'thread'> {
  readonly bytes: Buffer;
  /** Its head, as JSON. */
  readonly head: string;
  /** When it was activated before it was appended; null: it was not. */
  readonly wasActivatedAt: number | null;
  /** When it was activated through this process, after it was appended. */
  activatedAt: number | null;
  /** What was discovered through this process, as Redis has it; '': nothing. */
  discoveries: string;
}

/** Returns a decision that is about to be appended. */
export function bufferedDecision(decision: Decision): BufferedDecision {
  const { id, at, task, thread, activatedAt } = decision;
  const [bytes, head] = [encodeDecision(decision), JSON.stringify(headOf(decision))];
  return {
    id,
    at,
    task,
    thread,
    bytes,
    head,
    wasActivatedAt: activatedAt,
    activatedAt: null,
    discoveries: '',
  };
}

function isOf({ task, thread }: BufferedDecision, key: string): boolean {
  return task?.startsWith(key) === true || thread === key;
}

/** Returns when a decision was activated; null: not yet. */
export function activationOf({ wasActivatedAt, activatedAt }: BufferedDecision): number | null {
  return wasActivatedAt ?? activatedAt;
}

/**
 * Decisions of this process that Redis may not have. A decision is in one of these states:
 *
 * - *waiting*: it is to be written. A loop writes what waits, and tries again every 250 ms until Redis takes it.
 * - *recent*: it was written in the last 10 s. `repeat` makes all of these wait again.
 * - *gone*: older, or dropped.
 */
export class DecisionBuffer {
  readonly #write: (buffered: BufferedDecision) => Promise<void>;
  readonly #now: () => number;
  /** By id. */
  readonly #waiting = new Map<string, BufferedDecision>();
  /** By id, in the order in which they were written. */
  readonly #recent = new Map<string, { readonly buffered: BufferedDecision; readonly writtenAt: number }>();
  #flushing: Promise<void> | null = null;
  #closed = false;

  /** @param write writes a decision to Redis, or throws */
  constructor(write: (buffered: BufferedDecision) => Promise<void>, now: () => number) {
    this.#write = write;
    this.#now = now;
  }

  /** How many decisions wait. */
  get size(): number {
    return this.#waiting.size;
  }

  get isFull(): boolean {
    return this.#waiting.size >= MAX_WAITING;
  }

  get hasRecent(): boolean {
    return this.#recent.size > 0;
  }

  waiting(id: string): BufferedDecision | undefined {
    return this.#waiting.get(id);
  }

  /** Returns the decisions of a task that wait. @param key of a task, of a task id alone, or of a thread */
  ofTask(key: string): BufferedDecision[] {
    return [...this.#waiting.values()].filter((buffered) => isOf(buffered, key));
  }

  recent(id: string): BufferedDecision | undefined {
    return this.#recent.get(id)?.buffered;
  }

  /** Makes a decision wait. Returns false, and changes nothing, when one with this id waits already. */
  add(buffered: BufferedDecision): boolean {
    const { id } = buffered;
    if (this.#waiting.has(id)) return false;
    this.#waiting.set(id, buffered);
    this.#flushing ??= this.#flush();
    return true;
  }

  /** Call when a decision was written. */
  written(buffered: BufferedDecision): void {
    const { id } = buffered;
    this.#recent.delete(id);
    this.#recent.set(id, { buffered, writtenAt: this.#now() });
    this.forgetOld();
  }

  /** Writes a decision that waits now, and not when its turn comes. @throws what `write` throws */
  async writeWaiting(buffered: BufferedDecision): Promise<void> {
    const { activatedAt } = buffered;
    await this.#write(buffered);
    const { id } = buffered;
    // If it was activated in the meantime, that has to be written as well.
    if (buffered.activatedAt === activatedAt && this.#waiting.get(id) === buffered) this.#waiting.delete(id);
  }

  /** Makes all recent decisions wait again, because Redis may have lost them. */
  repeat(): void {
    for (const { buffered } of this.#recent.values()) this.add(buffered);
  }

  /** Forgets what was written more than 10 s ago. */
  forgetOld(): void {
    const oldest = this.#now() - RECENT_MS;
    for (const [id, { writtenAt }] of this.#recent) {
      if (this.#recent.size <= MAX_RECENT && writtenAt >= oldest) break;
      this.#recent.delete(id);
    }
  }

  /** Drops everything, and writes nothing any more. */
  drop(): void {
    this.#waiting.clear();
    this.#recent.clear();
  }

  /** Resolves when nothing waits any more, or what waits cannot be written now: that is lost. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting.values()].slice(0, FLUSH_BATCH);
      try {
        await Promise.all(some.map((buffered) => this.writeWaiting(buffered)));
      } catch {
        if (this.#closed) break;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#flushing = null;
  }
}
