import type { Reranker } from '../models/reranker.ts';

/** The rerankers of all catalogs: each is opened when it is first named, once, and shared. */
export class Rerankers {
  readonly #openReranker: (name: string) => Promise<Reranker>;
  readonly #opening = new Map<string, Promise<Reranker>>();
  readonly #open = new Map<string, Reranker>();

  /** @param openReranker rejects with UnusableModelError when there is none of this name, or of no use. */
  constructor(openReranker: (name: string) => Promise<Reranker>) {
    this.#openReranker = openReranker;
  }

  /** @throws UnusableModelError */
  get(name: string): Promise<Reranker> {
    const known = this.#opening.get(name);
    if (known !== undefined) return known;
    const opening = this.#openReranker(name);
    this.#opening.set(name, opening);
    opening.then(
      (reranker) => this.#open.set(name, reranker),
      () => this.#opening.delete(name),
    );
    return opening;
  }

  /** The one of this name if it is open; else it is being opened from now on, for later. */
  ready(name: string): Reranker | null {
    const open = this.#open.get(name) ?? null;
    if (open === null) this.get(name).catch(() => undefined);
    return open;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    for (const reranker of this.#open.values()) await reranker.close();
  }
}
