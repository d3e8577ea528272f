import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Position } from '../ledger/entry.ts';
import { catalogFolder, namesIn, removeFolder } from '../storage/data-folder.ts';
import { createFolder, removeUnfinished, syncFolder, writeFileDurably } from '../storage/durable-file.ts';
import { ifThere, unavailable } from '../storage/storage-errors.ts';
import { newestFence } from './file-leases.ts';
import {
  type SnapshotStore,
  type SnapshotStores,
  StaleFenceError,
  type StoredSnapshot,
  snapshotLease,
} from './snapshot-store.ts';

/** The snapshots in a data folder: `catalogs/<catalog>/snapshots/<position>.snapshot`. */
export class FileSnapshotStores implements SnapshotStores {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  async open(catalog: string): Promise<FileSnapshotStore> {
    const folder = join(catalogFolder(this.#dataDir, catalog), FOLDER);
    await createFolder(folder);
    return new FileSnapshotStore(folder, () => newestFence(this.#dataDir, snapshotLease(catalog)));
  }

  async newest(catalog: string): Promise<Position> {
    const [newest = 0] = await positionsIn(join(catalogFolder(this.#dataDir, catalog), FOLDER));
    return newest;
  }

  async remove(catalog: string): Promise<void> {
    await removeFolder(join(catalogFolder(this.#dataDir, catalog), FOLDER));
  }
}

/** Newest first. */
async function positionsIn(folder: string): Promise<Position[]> {
  const names = await namesIn(folder);
  return names
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => b - a);
}

/** Snapshots as files of a folder. One is there whole or not at all. */
export class FileSnapshotStore implements SnapshotStore {
  readonly #folder: string;
  readonly #newestFence: () => Promise<number>;
  /** One `put` after the other. */
  #putting: Promise<void> = Promise.resolve();

  constructor(folder: string, newestFence: () => Promise<number>) {
    this.#folder = folder;
    this.#newestFence = newestFence;
  }

  /** @throws StaleFenceError; StoreUnavailableError when the disk is full or away. */
  put(snapshot: StoredSnapshot, fence: number, keep: number): Promise<void> {
    const put = this.#putting.then(() => this.#put(snapshot, fence, keep));
    this.#putting = put.catch(() => {});
    return put;
  }

  list(): Promise<Position[]> {
    return positionsIn(this.#folder);
  }

  async get(position: Position): Promise<StoredSnapshot | null> {
    const bytes = await ifThere(readFile(this.#file(position)));
    return bytes && { position, bytes };
  }

  /** They are put aside, not deleted, as is what was cut off the ledger. */
  async discardAfter(position: Position): Promise<number> {
    const discarded = (await this.list()).filter((stored) => stored > position);
    for (const stored of discarded) await rename(this.#file(stored), `${this.#file(stored)}.cut`);
    if (discarded.length > 0) await syncFolder(this.#folder);
    return discarded.length;
  }

  async close(): Promise<void> {
    await this.#putting;
  }

  async #put({ position, bytes }: StoredSnapshot, fence: number, keep: number): Promise<void> {
    await this.#refuseStale(fence);
    try {
      await writeFileDurably(this.#file(position), bytes, () => this.#refuseStale(fence));
    } catch (error) {
      if (error instanceof StaleFenceError) throw error;
      throw unavailable(error, `Snapshot ${position} cannot be stored in "${this.#folder}"`);
    }
    await this.#tidy(keep);
  }

  async #refuseStale(fence: number): Promise<void> {
    const newest = await this.#newestFence();
    if (fence < newest) {
      throw new StaleFenceError(`Lease ${fence} has been succeeded by lease ${newest}; nothing was written.`);
    }
  }

  async #tidy(keep: number): Promise<void> {
    for (const position of (await this.list()).slice(keep)) await rm(this.#file(position), { force: true });
    await removeUnfinished(this.#folder);
  }

  #file(position: Position): string {
    return join(this.#folder, `${String(position).padStart(16, '0')}.snapshot`);
  }
}

const FOLDER = 'snapshots';
const NAME = /^(\d{16})\.snapshot$/;
