import { randomUUID } from 'node:crypto';
import { chmod, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { syncFolder, UNFINISHED, writeFileDurably, writeNewFile } from './durable-file.ts';
import { SILENCE_MS } from './lock-holder.ts';
import { type HeldLock, takeLock } from './process-lock.ts';
import { errorCode, ifThere, unavailable } from './storage-errors.ts';

/** Thrown when another process uses this data folder. The message names it and says what to do. */
export class DataFolderLockedError extends Error {
  override readonly name = 'DataFolderLockedError';
}

/**
 * Takes a data folder for this process, creating it if need be. A lock of a process that died is taken over.
 * @throws DataFolderLockedError, StoreUnavailableError
 */
export async function lockDataFolder(
  dataDir: string,
  onNotice: (message: string) => void = () => {},
): Promise<HeldLock> {
  const folder = resolve(dataDir);
  const lock = await takeLock(folder, LOCK).catch((error: unknown) => {
    const mend = 'set BANDOLIER_DATA_DIR to a folder that can be written';
    throw unavailable(error, `The data folder "${folder}" cannot be used (${mend})`);
  });
  if (lock.held) {
    await closeToOthers(folder, onNotice);
    await removeLeftovers(join(folder, CATALOGS));
    await removeLeftovers(keysFolder(folder));
    for (const catalog of await listCatalogFolders(folder))
      await removeLeftovers(catalogFolder(folder, catalog));
    return lock;
  }
  const { holder, isAlive } = lock;
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  const mend = isAlive
    ? `Stop that process, or set BANDOLIER_DATA_DIR to another folder.`
    : `Whether that process still runs cannot be checked from here: if it does not, the folder is free ` +
      `${SILENCE_MS / 1000} seconds after its last sign of life. If it does, stop it, or set BANDOLIER_DATA_DIR ` +
      `to another folder.`;
  throw new DataFolderLockedError(`The data folder "${folder}" is in use by ${who}. ${mend}`);
}

/** Restricts the folder to its owner: files in it may be readable for others, but the folder cannot be entered. */
async function closeToOthers(folder: string, onNotice: (message: string) => void): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o077) === 0 || process.platform === 'win32') return;
  try {
    await chmod(folder, 0o700);
    onNotice(
      `the data folder "${folder}" was open to other users of this machine; now it is its owner's alone`,
    );
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    onNotice(
      `the data folder "${folder}" is open to other users of this machine and cannot be closed: ${why}`,
    );
  }
}

/**
 * Tries whether a log of this folder could be appended to. It writes more than fits into the last pages of a full disk.
 * @throws StoreUnavailableError
 */
export async function checkWritable(dataDir: string, lock: HeldLock): Promise<void> {
  const probe = join(dataDir, `probe${UNFINISHED}`);
  try {
    await rm(probe, { force: true }); // a crash may have left it
    await writeNewFile(probe, PROBE);
    lock.verify(); // after the writing: where the disk hangs, that waits in a thread
  } catch (error) {
    throw unavailable(error, `Nothing can be written to "${dataDir}"`);
  } finally {
    await rm(probe, { force: true });
  }
}

/** Returns the folder of one catalog. @throws RangeError for a name that is not a plain file name. */
export function catalogFolder(dataDir: string, catalog: string): string {
  if (!CATALOG_NAME.test(catalog)) throw new RangeError(`"${catalog}" cannot be the name of a catalog.`);
  return join(dataDir, CATALOGS, catalog);
}

/** Returns the folder with the keys of what is encrypted, apart from it; a folder per catalog. */
export function keysFolder(dataDir: string): string {
  return join(dataDir, 'keys', CATALOGS);
}

/** Returns the data folder and the catalog's folder in which a path lies; null for each that the path does not tell. */
export function foldersOf(path: string): { dataDir: string | null; catalog: string | null } {
  const parts = path.split(sep);
  const at = parts.lastIndexOf(CATALOGS);
  if (at > 0) return { dataDir: parts.slice(0, at).join(sep), catalog: parts.slice(0, at + 2).join(sep) };
  const jobs = parts.lastIndexOf('jobs');
  return { dataDir: jobs > 0 ? parts.slice(0, jobs).join(sep) : null, catalog: null };
}

/** Returns the names of the catalogs in a data folder, sorted. */
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

/** Returns the names in a folder; none if it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}

const PROBE = new Uint8Array(64 * 1024).fill(1);
const LOCK = 'in-use';
const CATALOGS = 'catalogs';
const DOOMED = '.removed-';
/** The pattern of names in the HTTP API; repeated here because a name is part of a path. */
const CATALOG_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Returns the id of the deployment that a data folder belongs to; one without an id gets a new one. */
export async function readDeployment(dataDir: string): Promise<string> {
  try {
    return (await readFile(fileIn(dataDir), 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const id = randomUUID();
  await writeDeployment(dataDir, id);
  return id;
}

/** Marks the content of this data folder as a copy of that deployment. */
export function writeDeployment(dataDir: string, id: string): Promise<void> {
  return writeFileDurably(fileIn(dataDir), Buffer.from(`${id}\n`));
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'deployment');
}
