import type { Clock } from '../../src/queue/file-job-queue.ts';

/** A clock that stands still until it is turned. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ readonly due: number; readonly action: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { due: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Turns it on, stopping at every timer on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.due - b.due)[0];
      if (next === undefined || next.due > end) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.action();
    }
    this.#now = end;
  }

  get timers(): number {
    return this.#timers.size;
  }
}
