import type { Decision } from './decision.ts';

/** Most rewards come within seconds of their decision, which then need not be read from the disk… */
const PER_GENERATION = 1024;
/** … and those of a client that does not wait come at once: then it need not be decoded either. */
const WHOLE = 32;

/**
 * The newest decisions of a log, by id: 1,024 to 2,048 of them as the records that were written, since objects that live for
 * seconds are copied several times by the garbage collector, and the last few as they were appended. Both are the same, bit for bit.
 * The older generation goes as a whole: V8 replaces the table of a map from which entries are deleted again and again, and each
 * old table keeps the next one alive until the next collection of the whole heap.
 */
export class RecentDecisions {
  #older = new Map<string, Uint8Array>();
  #newer = new Map<string, Uint8Array>();
  readonly #whole = new Array<Decision | undefined>(WHOLE).fill(undefined);
  #next = 0;

  /** Returns a decision, or its record. */
  get(id: string): Decision | Uint8Array | undefined {
    const record = this.#newer.get(id) ?? this.#older.get(id);
    // Each that is appended is looked for first, and is not there.
    return record && (this.#whole.find((one) => one?.id === id) ?? record);
  }

  add(decision: Decision, record: Uint8Array): void {
    if (this.#newer.size === PER_GENERATION) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(decision.id, record);
    this.#whole[this.#next] = decision;
    this.#next = (this.#next + 1) % WHOLE;
  }

  drop(id: string): void {
    this.#newer.delete(id);
    this.#older.delete(id);
    const at = this.#whole.findIndex((one) => one?.id === id);
    if (at >= 0) this.#whole[at] = undefined;
  }
}
