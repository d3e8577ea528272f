const MOST_CATALOGS = 1_000;
/** Above this number the verdicts so far count half, so that the newer ones prevail. */
const MOST_VERDICTS = 1_000;

/**
 * What explicit reports said about successes after which the same job was searched for again, per catalog: from that follows what
 * such a success is worth where nobody reports on it. In the memory of this process alone.
 */
export class Verdicts {
  /** The catalog that was judged least recently first. `right` is the sum of the values. */
  readonly #catalogs = new Map<string, { count: number; right: number }>();

  /** @param value 0…1 */
  count(catalog: string, value: number): void {
    const verdicts = this.#catalogs.get(catalog) ?? { count: 0, right: 0 };
    this.#catalogs.delete(catalog);
    this.#catalogs.set(catalog, verdicts);
    verdicts.count++;
    verdicts.right += value;
    if (verdicts.count > MOST_VERDICTS) {
      verdicts.count /= 2;
      verdicts.right /= 2;
    }
    const [oldest] = this.#catalogs.keys();
    if (this.#catalogs.size > MOST_CATALOGS) this.#catalogs.delete(oldest);
  }

  /** Returns the mean of the verdicts, 0…1, with five more of which half were right, so that the first few decide little; null: there are none. */
  worth(catalog: string): number | null {
    const verdicts = this.#catalogs.get(catalog);
    return verdicts === undefined ? null : (2.5 + verdicts.right) / (5 + verdicts.count);
  }
}
