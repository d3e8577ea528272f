import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogFolder, namesIn, removeFolder } from '../storage/data-folder.ts';
import { createFolder, removeUnfinished, writeFileDurably } from '../storage/durable-file.ts';
import { ifThere, unavailable } from '../storage/storage-errors.ts';
import {
  type EvaluationStore,
  KEPT_EVALUATIONS,
  newestFirst,
  parseEvaluation,
  type StoredEvaluation,
} from './evaluation-store.ts';

/** Evaluations in a data folder, which belongs to one process: `catalogs/<catalog>/evaluations/<id>.json`. */
export class FileEvaluationStore implements EvaluationStore {
  readonly #dataDir: string;
  /** Saves run one after the other, so that none overwrites an evaluation that has ended meanwhile. */
  #saving: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** @throws StoreUnavailableError when the disk is full or away. */
  save(stored: StoredEvaluation): Promise<boolean> {
    const saved = this.#saving.then(() => this.#save(stored));
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async get(catalog: string, id: string): Promise<StoredEvaluation | null> {
    if (!ID.test(id)) return null;
    const text = await ifThere(readFile(this.#file(catalog, id), 'utf8'));
    return text === null ? null : parseEvaluation(text);
  }

  async list(catalog: string): Promise<readonly StoredEvaluation[]> {
    const names = await this.#names(catalog);
    const found = await Promise.all(names.map((name) => this.get(catalog, name.replace(/\.json$/, ''))));
    return newestFirst(found.filter((stored) => stored !== null));
  }

  async remove(catalog: string): Promise<void> {
    await this.#saving;
    await removeFolder(this.#folder(catalog));
  }

  async #save(stored: StoredEvaluation): Promise<boolean> {
    const { catalog, id, endedAt } = stored.evaluation;
    if (!ID.test(id)) throw new RangeError(`"${id}" cannot be the id of an evaluation.`);
    const before = await this.get(catalog, id);
    if (before !== null && before.evaluation.endedAt !== null) return false;
    try {
      await createFolder(this.#folder(catalog));
      await writeFileDurably(this.#file(catalog, id), Buffer.from(JSON.stringify(stored)));
      if (before === null || endedAt !== null) await this.#tidy(catalog);
    } catch (error) {
      throw unavailable(error, `Evaluation ${id} cannot be stored in "${this.#folder(catalog)}"`);
    }
    return true;
  }

  async #tidy(catalog: string): Promise<void> {
    const ended = (await this.list(catalog)).filter(({ evaluation }) => evaluation.endedAt !== null);
    for (const { evaluation } of ended.slice(KEPT_EVALUATIONS)) {
      await rm(this.#file(catalog, evaluation.id), { force: true });
    }
    await removeUnfinished(this.#folder(catalog));
  }

  async #names(catalog: string): Promise<string[]> {
    return (await namesIn(this.#folder(catalog))).filter((name) => name.endsWith('.json'));
  }

  #folder(catalog: string): string {
    return join(catalogFolder(this.#dataDir, catalog), 'evaluations');
  }

  #file(catalog: string, id: string): string {
    return join(this.#folder(catalog), `${id}.json`);
  }
}

/** An id as `randomUUID` makes it. It is part of a path. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
