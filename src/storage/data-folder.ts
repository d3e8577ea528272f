import { randomUUID } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { syncFolder } from './durable-file.ts';
import { takeLock } from './process-lock.ts';
import { errorCode, unavailable } from './storage-errors.ts';

/** Another process works on this data folder. The message names it and says what to do. */
export class DataFolderLockedError extends Error {
  override readonly name = 'DataFolderLockedError';
}

export interface DataFolderLock {
  /** Aborted when the folder can no longer be assumed to be ours: stop writing, end the process. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/**
 * Takes a data folder for this process, creating it if need be. A lock of a process that died is taken over.
 * @throws DataFolderLockedError, StorageUnavailableError
 */
export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  const folder = resolve(dataDir);
  const lock = await takeLock(folder, 'in-use').catch((error: unknown) => {
    throw unavailable(error, `The data folder "${folder}" cannot be used`);
  });
  if (lock.held) {
    for (const catalog of await listCatalogFolders(folder))
      await removeLeftovers(catalogFolder(folder, catalog));
    return lock;
  }
  const { holder, file } = lock;
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  throw new DataFolderLockedError(
    `The data folder "${folder}" is in use by ${who}. Stop that process, or set BANDOLIER_DATA_DIR to another ` +
      `folder. If that process is known to be gone, delete "${file}".`,
  );
}

/** Where everything of one catalog lies. @throws RangeError for a name that is not a plain file name. */
export function catalogFolder(dataDir: string, catalog: string): string {
  if (!CATALOG_NAME.test(catalog)) throw new RangeError(`"${catalog}" cannot be the name of a catalog.`);
  return join(dataDir, CATALOGS, catalog);
}

/** Names of the catalogs in a data folder, sorted. */
export async function listCatalogFolders(dataDir: string): Promise<string[]> {
  const names = await namesIn(join(dataDir, CATALOGS));
  return names.filter((name) => CATALOG_NAME.test(name)).sort();
}

/** Deletes a folder in such a way that a crash in between leaves it whole or gone. */
export async function removeFolder(folder: string): Promise<void> {
  const parent = dirname(folder);
  const doomed = join(parent, `${DOOMED}${randomUUID()}`);
  try {
    await rename(folder, doomed);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  await syncFolder(parent);
  await removeLeftovers(parent);
}

/** Finishes deletions that a crash interrupted. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await namesIn(parent)) {
    if (name.startsWith(DOOMED)) await rm(join(parent, name), { recursive: true, force: true });
  }
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
}

const CATALOGS = 'catalogs';
const DOOMED = '.removed-';
/** As the HTTP API has it; repeated here because a path is made of it. */
const CATALOG_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
