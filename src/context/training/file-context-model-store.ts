import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandQueues } from '../../catalog/command-queues.ts';
import { catalogFolder, removeFolder } from '../../storage/data-folder.ts';
import { createFolder, syncFolder, writeFileDurably } from '../../storage/durable-file.ts';
import { ifThere, unavailable } from '../../storage/storage-errors.ts';
import {
  type ContextModelStore,
  isUnderWay,
  parseTraining,
  type StoredTraining,
} from './context-model-store.ts';

/** Models in a data folder, which belongs to one process: `catalogs/<catalog>/context-model/model.bin`, `training.json`. */
export class FileContextModelStore implements ContextModelStore {
  readonly #dataDir: string;
  readonly #changes = new CommandQueues();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  begin(stored: StoredTraining): Promise<StoredTraining> {
    const { catalog } = stored.training;
    return this.#changes.run(catalog, async () => {
      const kept = await this.training(catalog);
      if (isUnderWay(kept)) return kept;
      await this.#write(catalog, 'training.json', Buffer.from(JSON.stringify(stored)));
      return stored;
    });
  }

  save(stored: StoredTraining): Promise<boolean> {
    const { catalog, id } = stored.training;
    return this.#changes.run(catalog, async () => {
      const kept = await this.training(catalog);
      if (!isUnderWay(kept) || kept.training.id !== id) return false;
      await this.#write(catalog, 'training.json', Buffer.from(JSON.stringify(stored)));
      return true;
    });
  }

  async training(catalog: string): Promise<StoredTraining | null> {
    const bytes = await ifThere(readFile(this.#file(catalog, 'training.json'), 'utf8'));
    return bytes === null ? null : parseTraining(bytes);
  }

  async modelVersion(catalog: string): Promise<string | null> {
    const found = await ifThere(stat(this.#file(catalog, 'model.bin'), { bigint: true }));
    return found === null ? null : `${found.ino}-${found.mtimeNs}-${found.size}`;
  }

  model(catalog: string): Promise<Buffer | null> {
    return ifThere(readFile(this.#file(catalog, 'model.bin')));
  }

  putModel(catalog: string, model: Uint8Array | null): Promise<boolean> {
    return this.#changes.run(catalog, async () => {
      const isThere = (await this.modelVersion(catalog)) !== null;
      if (model !== null) await this.#write(catalog, 'model.bin', model);
      else if (isThere) {
        await rm(this.#file(catalog, 'model.bin'), { force: true });
        await syncFolder(this.#folder(catalog));
      }
      return isThere;
    });
  }

  remove(catalog: string): Promise<void> {
    return this.#changes.run(catalog, () => removeFolder(this.#folder(catalog)));
  }

  async #write(catalog: string, name: string, bytes: Uint8Array): Promise<void> {
    try {
      await createFolder(this.#folder(catalog));
      await writeFileDurably(this.#file(catalog, name), bytes);
    } catch (error) {
      throw unavailable(error, `A model of context cannot be kept in "${this.#folder(catalog)}"`);
    }
  }

  #folder(catalog: string): string {
    return join(catalogFolder(this.#dataDir, catalog), 'context-model');
  }

  #file(catalog: string, name: string): string {
    return join(this.#folder(catalog), name);
  }
}
