import { setMaxListeners } from 'node:events';
import { Problem } from '../errors/problem.ts';
import type { Position } from '../ledger/entry.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import type { Catalogs } from './catalogs.ts';

const TIMEOUT_MS = 5_000;

/**
 * How far this process has folded each catalog. A client that wrote through one process and reads through another
 * sends the position it was answered, and is answered from there or later.
 */
export class CatalogPositions {
  readonly #catalogs: Catalogs;
  readonly #lookForCatalogs: () => Promise<void>;
  readonly #timeoutMs: number;

  /** @param timeoutMs for which a request waits at most, for all the positions that it names */
  constructor(catalogs: Catalogs, lookForCatalogs: () => Promise<void>, timeoutMs = TIMEOUT_MS) {
    this.#catalogs = catalogs;
    this.#lookForCatalogs = lookForCatalogs;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the position up to which a catalog is folded here; null for a catalog that is not open here. */
  of(catalog: string): Position | null {
    return this.#catalogs.find(catalog)?.state.position ?? null;
  }

  /**
   * Resolves when each of these catalogs has been folded up to its position.
   * @throws Problem unavailable when that takes too long, for all of them together, or `signal` aborts
   */
  async reached(
    wanted: readonly (readonly [catalog: string, position: Position])[],
    signal: AbortSignal,
  ): Promise<void> {
    const giveUp = new AbortController();
    setMaxListeners(wanted.length + 1, giveUp.signal); // one for each catalog, and `isOver`
    const isOver = new Promise<void>((resolve) => {
      giveUp.signal.addEventListener('abort', () => resolve());
    });
    const abort = (): void => giveUp.abort();
    const timer = setTimeout(abort, this.#timeoutMs);
    signal.addEventListener('abort', abort);
    try {
      await Promise.all(
        wanted.map(async ([catalog, position]) => {
          const isKnown = this.#known(catalog, position, giveUp.signal);
          if ((await Promise.race([isKnown, isOver])) !== true) throw this.#notYet(catalog, position);
        }),
      );
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      giveUp.abort();
    }
  }

  /** Returns whether the catalog has reached the position, or never will because it was deleted. */
  async #known(catalog: string, position: Position, giveUp: AbortSignal): Promise<boolean> {
    if (!this.#catalogs.serves(catalog)) return true;
    if (this.#catalogs.find(catalog) === undefined) await this.#lookForCatalogs();
    const open = this.#catalogs.find(catalog);
    if (open === undefined || open.state.position >= position) return true;
    try {
      // A position that does not exist was given for an earlier catalog of this name.
      if ((await open.ledger.head()) < position) return true;
      await open.replica.reached(position, giveUp);
    } catch (error) {
      // Deleted meanwhile, and the position with it.
      if (open.closed.aborted || error instanceof LedgerRemovedError) return true;
      throw error;
    }
    return open.state.position >= position;
  }

  #notYet(catalog: string, position: Position): Problem {
    const known = this.of(catalog);
    return new Problem(
      'unavailable',
      known === null
        ? `This process does not know yet whether there is a catalog "${catalog}".`
        : `This process knows catalog "${catalog}" up to ${known}, and not yet ${position}.`,
      'Send the request again, or without X-Bandolier-Position if an older answer will do.',
      { retryAfterSeconds: 1 },
    );
  }
}
