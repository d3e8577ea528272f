import type { Position } from '../ledger/entry.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import { Problem } from '../problem.ts';
import type { Catalogs } from './catalogs.ts';

/** So long a request waits for what it wants to see. */
const PATIENCE_MS = 5_000;

/**
 * How far this process has folded each catalog. A client that wrote through one process and reads through another
 * sends the position it was answered, and is answered from there or later.
 */
export class CatalogPositions {
  readonly #catalogs: Catalogs;
  readonly #lookForCatalogs: () => Promise<void>;

  constructor(catalogs: Catalogs, lookForCatalogs: () => Promise<void>) {
    this.#catalogs = catalogs;
    this.#lookForCatalogs = lookForCatalogs;
  }

  /** Null for a catalog that is not here. */
  of(catalog: string): Position | null {
    return this.#catalogs.find(catalog)?.state.position ?? null;
  }

  /** Resolves when this catalog has been folded up to there. @throws Problem unavailable when that takes too long */
  async reached(catalog: string, position: Position): Promise<void> {
    if (!this.#catalogs.serves(catalog)) return;
    if (this.#catalogs.find(catalog) === undefined) await this.#lookForCatalogs();
    const open = this.#catalogs.find(catalog);
    if (open === undefined || open.state.position >= position) return;
    try {
      // A position that does not exist was given for an earlier catalog of this name.
      if ((await open.ledger.head()) < position) return;
      await open.replica.reached(position, AbortSignal.timeout(PATIENCE_MS));
    } catch (error) {
      // Deleted meanwhile, and the position with it.
      if (open.closed.aborted || error instanceof LedgerRemovedError) return;
      throw error;
    }
    if (open.state.position >= position) return;
    throw new Problem(
      'unavailable',
      `This process knows catalog "${catalog}" up to ${open.state.position}, and not yet ${position}.`,
      'Send the request again, or without X-Bandolier-Position if an older answer will do.',
      { retryAfterSeconds: 1 },
    );
  }
}
