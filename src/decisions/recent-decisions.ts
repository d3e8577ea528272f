import type { Decision } from './decision.ts';

/** Most rewards come within seconds of their decision, which then need not be read from the disk and decoded. Each takes some 10 KB. */
const MOST = 1024;

/** The newest decisions of a log, by id, as they were appended: what a log gives back is the same, bit for bit. */
export class RecentDecisions {
  readonly #decisions = new Map<string, Decision>();

  get(id: string): Decision | undefined {
    return this.#decisions.get(id);
  }

  /** Adds a decision that is not in it, and drops the oldest if there is no room for it. */
  add(decision: Decision): void {
    this.#decisions.set(decision.id, decision);
    if (this.#decisions.size <= MOST) return;
    const [oldest] = this.#decisions.keys();
    this.#decisions.delete(oldest);
  }

  drop(id: string): void {
    this.#decisions.delete(id);
  }
}
