import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { catalogFolder, removeFolder } from '../storage/data-folder.ts';
import type { DecisionLogs } from './decision-log.ts';
import { FileDecisionLog, type FileDecisionLogOptions } from './file-decision-log.ts';

/** The decision logs in a data folder: `catalogs/<catalog>/decisions`. */
export class FileDecisionLogs implements DecisionLogs {
  readonly isShared = false;
  readonly #dataDir: string;
  readonly #options: FileDecisionLogOptions;
  readonly #open = new Map<string, Promise<FileDecisionLog>>();
  /** Catalogs whose folder is being deleted. */
  readonly #removing = new Map<string, Promise<void>>();

  constructor(dataDir: string, options: FileDecisionLogOptions) {
    this.#dataDir = dataDir;
    this.#options = options;
  }

  open(catalog: string): Promise<FileDecisionLog> {
    const open = this.#open.get(catalog);
    if (open !== undefined) return open;
    const opening = this.#openLog(catalog);
    this.#open.set(catalog, opening);
    opening.catch(() => this.#open.delete(catalog)); // the next caller tries again
    return opening;
  }

  async find(catalog: string): Promise<FileDecisionLog | null> {
    await this.#removing.get(catalog)?.catch(() => {});
    const isThere = this.#open.has(catalog) || existsSync(this.#folder(catalog));
    return isThere ? this.open(catalog) : null;
  }

  async release(catalog: string): Promise<void> {
    const open = this.#open.get(catalog);
    this.#open.delete(catalog);
    await (await open)?.close();
  }

  async remove(catalog: string): Promise<void> {
    const open = this.#open.get(catalog);
    this.#open.delete(catalog);
    const removing = (async () => {
      await (await open)?.discard();
      await removeFolder(this.#folder(catalog));
    })();
    this.#removing.set(catalog, removing);
    await removing.finally(() => this.#removing.delete(catalog));
  }

  /** Deletes what has expired, also in catalogs that make no decisions. */
  async expire(): Promise<void> {
    for (const open of this.#open.values()) await (await open).expire();
  }

  async close(): Promise<void> {
    for (const open of this.#open.values()) await (await open).close();
    this.#open.clear();
  }

  async #openLog(catalog: string): Promise<FileDecisionLog> {
    await this.#removing.get(catalog)?.catch(() => {});
    return FileDecisionLog.open(this.#folder(catalog), this.#options);
  }

  #folder(catalog: string): string {
    return join(catalogFolder(this.#dataDir, catalog), 'decisions');
  }
}
