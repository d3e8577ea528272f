import type { CatalogState } from '../../src/state/catalog-state.ts';

/** A replica whose state another one takes the place of, as after a reload; the first may not be touched from then on. */
export class ReplacedState {
  #current: CatalogState;
  readonly #first: CatalogState;
  readonly #next: CatalogState;

  constructor(first: CatalogState, next: CatalogState) {
    this.#current = new Proxy(first, {
      get: (state, key) => {
        if (this.#current === this.#next) throw new Error(`"${String(key)}" of a freed state was read`);
        return Reflect.get(state, key);
      },
    });
    this.#first = first;
    this.#next = next;
  }

  get state(): CatalogState {
    return this.#current;
  }

  replace(): void {
    // What is freed belongs to somebody else, who writes there.
    this.#first.tools.vectors.values.fill(Number.NaN);
    this.#current = this.#next;
  }

  async readConsistent<Seen>(read: (state: CatalogState) => Seen): Promise<Seen> {
    return read(this.#current);
  }
}
