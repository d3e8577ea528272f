import { isStoreAway } from '../errors/store-errors.ts';
import type { Ledgers } from '../ledger/ledger.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import type { Catalogs } from './catalogs.ts';

const LOOK_EVERY_MS = 500;
/** What fails is tried again after this, then after twice as long, up to the longest. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

interface Failure {
  readonly message: string;
  readonly retryMs: number;
  /** By the steady clock. */
  readonly retryAt: number;
}

/** Opens catalogs that other processes create, and closes those that they delete. */
export class CatalogFollower {
  readonly #catalogs: Pick<Catalogs, 'all' | 'release' | 'acquire' | 'failed'>;
  readonly #ledgers: Pick<Ledgers, 'list'>;
  readonly #onError: (message: string, error: unknown) => void;
  readonly #looks: Repeated;
  readonly #failures = new Map<string, Failure>();

  constructor(
    catalogs: Pick<Catalogs, 'all' | 'release' | 'acquire' | 'failed'>,
    ledgers: Pick<Ledgers, 'list'>,
    onError: (message: string, error: unknown) => void,
  ) {
    this.#catalogs = catalogs;
    this.#ledgers = ledgers;
    this.#onError = onError;
    this.#looks = every(LOOK_EVERY_MS, () => this.#look(), {
      onError: (error) => {
        if (!isStoreAway(error)) onError('catalogs of other processes could not be followed', error);
      },
    });
  }

  /** Looks once, now. Never rejects. */
  look(): Promise<void> {
    return this.#looks.now();
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  async #look(): Promise<void> {
    for (const catalog of this.#catalogs.all()) {
      await this.#try(catalog.name, async () => {
        if (!(await catalog.ledger.exists())) await this.#catalogs.release(catalog);
      });
    }
    const listed = await this.#ledgers.list();
    // One that could not be opened may have been deleted since, and is listed no more.
    for (const name of new Set(['default', ...listed, ...this.#catalogs.failed().keys()])) {
      await this.#try(name, () => this.#catalogs.acquire(name));
    }
  }

  /** One catalog that fails keeps no other away. It is said once, and tried again less and less often. */
  async #try(name: string, follow: () => Promise<void>): Promise<void> {
    const before = this.#failures.get(name);
    if (before !== undefined && performance.now() < before.retryAt) return;
    try {
      await follow();
      this.#failures.delete(name);
    } catch (error) {
      if (isStoreAway(error)) return; // nothing changes meanwhile, and /readyz says that it is
      const { message } = error as Error;
      const retryMs = Math.min((before?.retryMs ?? FIRST_RETRY_MS / 2) * 2, LONGEST_RETRY_MS);
      this.#failures.set(name, { message, retryMs, retryAt: performance.now() + retryMs });
      if (before?.message !== message) this.#onError(`catalog "${name}" could not be followed`, error);
    }
  }
}
