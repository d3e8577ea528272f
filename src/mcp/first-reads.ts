/** What is known about the sources of a catalog. */
export interface KnownSources {
  /**
   * Returns the sources that were never read with success, with why the newest attempt failed; null: none has ended.
   * @throws Problem catalog-not-found
   */
  unread(catalog: string): readonly { readonly name: string; readonly error: string | null }[];
  /** Resolves when the first attempt to read a source has ended, well or not, or when `giveUp` aborts. */
  firstAttempt(catalog: string, name: string, giveUp: AbortSignal): Promise<void>;
}

/** Clients give up on a server that says nothing for ten seconds when they start it; ms. */
const PATIENCE_MS = 5_000;
const LONGEST_REASON = 200;
const MOST_REASONS = 5;

/** The sources of catalogs until they have been read for the first time. What is asked before would find none of their tools. */
export class FirstReads {
  readonly #sources: KnownSources;
  /** By catalog and source: one that takes longer is waited for once. */
  readonly #waits = new Map<string, Promise<void>>();

  constructor(sources: KnownSources) {
    this.#sources = sources;
  }

  /** Waits, for seconds at most, for sources that are being read for the first time. @throws Problem catalog-not-found */
  async wait(catalog: string): Promise<void> {
    const reading = this.#sources.unread(catalog).filter(({ error }) => error === null);
    await Promise.all(reading.map(({ name }) => this.#attempt(catalog, name)));
  }

  /** Says which sources have no tools yet, and why. @throws Problem catalog-not-found */
  notes(catalog: string): string[] {
    const unread = this.#sources.unread(catalog);
    const reading = unread.filter(({ error }) => error === null).map(({ name }) => name);
    const failed = unread.flatMap(({ name, error }) =>
      error === null ? [] : [`${name} (${error.slice(0, LONGEST_REASON)})`],
    );
    return [
      ...(reading.length === 0 ? [] : [`Still being read: ${some(reading)}.`]),
      ...(failed.length === 0 ? [] : [`Could not be read: ${some(failed)}.`]),
    ];
  }

  #attempt(catalog: string, name: string): Promise<void> {
    const key = JSON.stringify([catalog, name]);
    const known = this.#waits.get(key);
    if (known !== undefined) return known;
    // A catalog that closes meanwhile has nothing to wait for; what was asked of it says so itself.
    const wait = this.#sources.firstAttempt(catalog, name, AbortSignal.timeout(PATIENCE_MS)).catch(() => {});
    this.#waits.set(key, wait);
    return wait;
  }
}

function some(items: readonly string[]): string {
  const rest = items.length - MOST_REASONS;
  return [...items.slice(0, MOST_REASONS), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
