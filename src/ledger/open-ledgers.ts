import { type Ledger, LedgerRemovedError, type Ledgers } from './ledger.ts';

/** The ledgers of all catalogs, opened when they are needed and closed when their catalog is deleted. */
export interface OpenLedgers {
  names(): Promise<readonly string[]>;
  /** Null when there is no such catalog. */
  get(catalog: string): Promise<Ledger | null>;
}

/** The ledgers of a process that holds no catalogs. */
export class LedgerCollection implements OpenLedgers {
  readonly #ledgers: Ledgers;
  readonly #open = new Map<string, Promise<Ledger>>();

  constructor(ledgers: Ledgers) {
    this.#ledgers = ledgers;
  }

  /** Also closes the ledgers that were deleted meanwhile. */
  async names(): Promise<readonly string[]> {
    for (const [name, opening] of this.#open) {
      const ledger = await opening;
      if (await ledger.exists()) continue;
      this.#open.delete(name);
      await ledger.close();
    }
    return this.#ledgers.list();
  }

  async get(catalog: string): Promise<Ledger | null> {
    const open = this.#open.get(catalog);
    if (open !== undefined) return open;
    try {
      return await this.#openLedger(catalog);
    } catch (error) {
      if (error instanceof LedgerRemovedError) return null;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const opening of this.#open.values()) await (await opening).close();
    this.#open.clear();
  }

  #openLedger(catalog: string): Promise<Ledger> {
    const opening = this.#ledgers.openExisting(catalog);
    this.#open.set(catalog, opening);
    opening.catch(() => this.#open.delete(catalog));
    return opening;
  }
}
