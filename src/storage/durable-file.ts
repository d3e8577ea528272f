import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errorCode, ifThere } from './storage-errors.ts';

/** Suffix of files that were being written when the process ended; they may be deleted at any time. */
export const UNFINISHED = '.unfinished';

/** Makes names that were created, renamed or removed in this folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Creates a folder and its parents, so that they are still there after a power failure.
 * @throws Error with the code of the file system; Node's own recursive `mkdir` does not end where a file system has fixed names.
 */
export async function createFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = resolve(folder); path !== dirname(path) && !(await isThere(path)); path = dirname(path)) {
    missing.push(path);
  }
  for (const path of missing.reverse()) {
    await mkdir(path).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error; // another process was faster
    });
    await syncFolder(dirname(path));
  }
}

/** Returns whether there is a file or a folder. @throws Error with the code of the file system when it cannot be told */
export async function isThere(path: string): Promise<boolean> {
  return (await ifThere(stat(path))) !== null;
}

/** Writes a file that holds either its old content or the new one, whatever happens. */
export async function writeFileDurably(
  file: string,
  bytes: Uint8Array,
  beforeRename: () => Promise<void> = async () => {},
): Promise<void> {
  const unfinished = `${file}.${randomUUID()}${UNFINISHED}`;
  try {
    await writeNewFile(unfinished, bytes);
    await beforeRename();
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Creates a file with this content, for its owner alone, and syncs it. @throws EEXIST */
export async function writeNewFile(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await writeFully(handle, bytes, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a file together with its content. Returns false, and changes nothing, if there is one of this name already. */
export async function createFileWhole(file: string, bytes: Uint8Array): Promise<boolean> {
  const unfinished = `${file}.${randomUUID()}${UNFINISHED}`;
  try {
    await writeNewFile(unfinished, bytes);
    await link(unfinished, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** Writes over the beginning of a file that exists, in place. @throws ENOENT */
export async function overwriteFile(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await writeFully(handle, bytes, 0);
  } finally {
    await handle.close();
  }
}

/** Deletes unfinished files that a crash left in a folder in which nothing is being written. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith(UNFINISHED)) await rm(join(folder, name), { force: true });
  }
}

/** A write may be cut short when the disk fills up; the next one then says why. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Reads `length` bytes, fewer at the end of the file. */
export async function readFully(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) return buffer.subarray(0, done);
    done += bytesRead;
  }
  return buffer;
}
