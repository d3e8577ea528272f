import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogFolder, listCatalogFolders, removeFolder } from '../storage/data-folder.ts';
import type { Position } from './entry.ts';
import { FileLedger, type FileLedgerOptions } from './file-ledger.ts';
import type { Ledger, Ledgers } from './ledger.ts';

/** The ledgers in a data folder: `catalogs/<catalog>/ledger`. */
export class FileLedgers implements Ledgers {
  readonly #dataDir: string;
  readonly #options: FileLedgerOptions;
  readonly #open = new Set<string>();

  constructor(dataDir: string, options: FileLedgerOptions) {
    this.#dataDir = dataDir;
    this.#options = options;
  }

  async list(): Promise<string[]> {
    const catalogs = await listCatalogFolders(this.#dataDir);
    const present = await Promise.all(
      catalogs.map((catalog) => exists(ledgerFolder(this.#dataDir, catalog))),
    );
    return catalogs.filter((_, i) => present[i]);
  }

  /** @throws LedgerCorruptError, LedgerUnavailableError; Error when it is open already. */
  async open(catalog: string): Promise<Ledger> {
    const folder = ledgerFolder(this.#dataDir, catalog);
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      return await FileLedger.open(folder, this.#options, () => this.#open.delete(catalog));
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
  }

  async begin(catalog: string, after: Position): Promise<void> {
    const folder = ledgerFolder(this.#dataDir, catalog);
    if (await exists(folder)) throw new Error(`Catalog "${catalog}" has a ledger already.`);
    const ledger = await FileLedger.open(folder, { ...this.#options, startAfter: after });
    await ledger.close();
  }

  async remove(catalog: string): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    await removeFolder(ledgerFolder(this.#dataDir, catalog));
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
