import type { Ledgers } from '../ledger/ledger.ts';
import type { Catalogs } from './catalogs.ts';

const LOOK_EVERY_MS = 500;

/** Sees to it that catalogs which another process creates or deletes come and go here as well. */
export class CatalogFollower {
  readonly #catalogs: Catalogs;
  readonly #ledgers: Pick<Ledgers, 'list'>;
  readonly #trouble: (message: string, error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;

  constructor(
    catalogs: Catalogs,
    ledgers: Pick<Ledgers, 'list'>,
    trouble: (message: string, error: unknown) => void,
  ) {
    this.#catalogs = catalogs;
    this.#ledgers = ledgers;
    this.#trouble = trouble;
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Looks once, now. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error) => {
        // While the store is away nothing changes, and /readyz says that it is.
        if ('retryAfterSeconds' in error) return;
        this.#trouble('catalogs of other processes could not be followed', error);
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    for (const catalog of this.#catalogs.all()) {
      if (!(await catalog.ledger.exists())) await this.#catalogs.letGo(catalog);
    }
    for (const name of await this.#ledgers.list()) await this.#catalogs.takeUp(name);
  }
}
