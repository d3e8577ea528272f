import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogFolder, listCatalogFolders, removeFolder } from '../storage/data-folder.ts';
import type { SegmentLogOptions } from '../storage/segment-log.ts';
import type { Position } from './entry.ts';
import { FileLedger } from './file-ledger.ts';
import { type Ledger, LedgerRemovedError, type Ledgers, readNewest } from './ledger.ts';

export interface FileLedgersOptions extends Omit<SegmentLogOptions, 'knownUpTo'> {
  /** To which position the ledger of this catalog reached at least: the newest snapshot says so. */
  readonly knownUpTo?: (catalog: string) => Promise<Position>;
}

/** The ledgers in a data folder: `catalogs/<catalog>/ledger`. */
export class FileLedgers implements Ledgers {
  readonly #dataDir: string;
  readonly #options: FileLedgersOptions;
  readonly #open = new Set<string>();

  constructor(dataDir: string, options: FileLedgersOptions = {}) {
    this.#dataDir = dataDir;
    this.#options = options;
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for (const catalog of await listCatalogFolders(this.#dataDir)) {
      if (await this.#wasMade(catalog)) names.push(catalog);
    }
    return names;
  }

  /** @throws LedgerCorruptError, StoreUnavailableError; Error when it is open already. */
  async open(catalog: string): Promise<Ledger> {
    const folder = ledgerFolder(this.#dataDir, catalog);
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      const options = { ...this.#options, knownUpTo: await this.#knownUpTo(catalog) };
      const ledger = await FileLedger.open(folder, options, () => this.#open.delete(catalog));
      await readNewest(ledger);
      return ledger;
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
  }

  async openExisting(catalog: string): Promise<Ledger> {
    if (!(await this.#wasMade(catalog))) throw new LedgerRemovedError(catalog);
    return this.open(catalog);
  }

  async begin(catalog: string, after: Position): Promise<void> {
    const folder = ledgerFolder(this.#dataDir, catalog);
    if (await exists(folder)) throw new Error(`Catalog "${catalog}" has a ledger already.`);
    const options = { ...this.#options, startAfter: after, knownUpTo: 0 };
    const ledger = await FileLedger.open(folder, options);
    await ledger.close();
  }

  /** With everything else of the catalog: after a crash in between, snapshots would look as if their ledger were lost. */
  async remove(catalog: string, erase = async (): Promise<void> => {}): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    await removeFolder(catalogFolder(this.#dataDir, catalog));
    await erase();
  }

  /** A folder is removed whole, and taking the data folder deletes what a crash left of it. */
  async finishRemovals(): Promise<void> {}

  /** A ledger of which only snapshots are left was not removed but lost: opening it says so. */
  async #wasMade(catalog: string): Promise<boolean> {
    return (
      (await exists(ledgerFolder(this.#dataDir, catalog))) || ((await this.#knownUpTo(catalog)) ?? 0) > 0
    );
  }

  #knownUpTo(catalog: string): Promise<Position> | undefined {
    return this.#options.knownUpTo?.(catalog);
  }
}

/** Where the ledger of a catalog lies. @throws RangeError for a name that cannot be one of a catalog. */
export function ledgerFolder(dataDir: string, catalog: string): string {
  return join(catalogFolder(dataDir, catalog), 'ledger');
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
