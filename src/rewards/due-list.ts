import type { DueDecision } from '../decisions/decision-index.ts';
import { type Due, DueHeap } from '../queue/job-order.ts';

interface Waiting extends Due {
  readonly id: string;
}

/** Elements of the heap that wait no more are removed when there are more of them than of the others, and so many. */
const MOST_STALE = 1_024;

/** The decisions of one catalog that wait for their deadline, each once. */
export class DueList {
  readonly #waiting = new Map<string, Waiting>();
  /** Holds what waits, and some that does not any more: it is left there when it is removed. */
  #heap = new DueHeap<Waiting>();
  #order = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** When the next one is due, ms since the epoch; infinite when none waits. */
  get next(): number {
    for (let top = this.#heap.top; top !== undefined; top = this.#heap.top) {
      if (this.#waiting.get(top.id) === top) return top.runAt;
      this.#heap.take();
    }
    return Number.POSITIVE_INFINITY;
  }

  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Adds a decision. One that waits already gets this deadline. */
  add({ id, deadline }: DueDecision): void {
    if (this.#waiting.get(id)?.runAt === deadline) return;
    const waiting: Waiting = { runAt: deadline, order: this.#order++, id };
    this.#waiting.set(id, waiting);
    this.#heap.add(waiting);
    this.#removeStale();
  }

  remove(id: string): void {
    if (this.#waiting.delete(id)) this.#removeStale();
  }

  /** Takes what is due, at most so many, the earliest first. */
  take(now: number, limit: number): DueDecision[] {
    const taken: DueDecision[] = [];
    while (taken.length < limit && this.next <= now) {
      const { id, runAt } = this.#heap.take()!;
      this.#waiting.delete(id);
      taken.push({ id, deadline: runAt });
    }
    return taken;
  }

  #removeStale(): void {
    if (this.#heap.size <= 2 * this.#waiting.size + MOST_STALE) return;
    this.#heap = new DueHeap();
    for (const waiting of this.#waiting.values()) this.#heap.add(waiting);
  }
}
