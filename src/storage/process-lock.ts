import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createFolder,
  syncFolder,
  UNFINISHED,
  writeFileDurably,
  writeFully,
  writeNewFile,
} from './durable-file.ts';
import { currentProcess, livenessOf, type ProcessIdentity } from './process-identity.ts';
import { errorCode } from './storage-errors.ts';

/** A lock that this process holds. */
export interface HeldLock {
  readonly held: true;
  /** 1 for the first holder of this name, and greater for every later one, also after restarts. */
  readonly generation: number;
  /** Aborted once it was released, or somebody else took it, or its file is gone. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Somebody else's lock; the file is what to delete if that process is known to be gone. */
export interface ForeignLock {
  readonly held: false;
  readonly holder: ProcessIdentity | null;
  readonly file: string;
}

const BEAT_MS = 3_000;
/** A holder on another machine that was not heard of for so long is taken for dead. */
const SILENCE_MS = 15_000;

/**
 * Takes a lock among processes that share a folder, or answers who holds it. A holder that died is succeeded.
 *
 * Every holder creates a file of its own, `<name>.<generation>.lock`; the highest generation holds the lock. So
 * creating the next file is the one atomic step, and there is no moment at which a stale file is removed to
 * make room, which two processes could do at the same time.
 */
export async function takeLock(
  folder: string,
  name: string,
  holder: ProcessIdentity = currentProcess(),
): Promise<HeldLock | ForeignLock> {
  await createFolder(folder);
  for (;;) {
    const newest = await newestGeneration(folder, name);
    const foreign = newest === 0 ? null : await livingHolder(folder, lockFile(folder, name, newest));
    if (foreign !== null) return foreign;
    if (!(await createWhole(lockFile(folder, name, newest + 1), describe(holder)))) continue;
    // Ours may be an old number whose file had been cleaned away already: then a higher one stands.
    if ((await newestGeneration(folder, name)) !== newest + 1) {
      await rm(lockFile(folder, name, newest + 1), { force: true });
      continue;
    }
    await syncFolder(folder);
    await rm(lockFile(folder, name, newest), { force: true });
    return new FileLock(folder, name, newest + 1, holder);
  }
}

/** The generation of the newest holder, 0 when there was none. */
export async function newestGeneration(folder: string, name: string): Promise<number> {
  const prefix = `${encodeURIComponent(name)}.`;
  const names = await readdir(folder).catch(() => []);
  const generations = names
    .filter((file) => file.startsWith(prefix) && file.endsWith('.lock'))
    .map((file) => file.slice(prefix.length, -'.lock'.length))
    .filter((digits) => /^\d+$/.test(digits))
    .map(Number);
  return Math.max(0, ...generations);
}

class FileLock implements HeldLock {
  readonly held = true;
  readonly generation: number;
  readonly #folder: string;
  readonly #name: string;
  readonly #content: Buffer;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> = Promise.resolve();

  constructor(folder: string, name: string, generation: number, holder: ProcessIdentity) {
    this.#folder = folder;
    this.#name = name;
    this.generation = generation;
    this.#content = describe(holder);
    this.#timer = setInterval(() => {
      this.#beating = this.#beat();
    }, BEAT_MS);
    this.#timer.unref();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    if (this.#lost.signal.aborted) return;
    clearInterval(this.#timer);
    this.#lost.abort();
    await this.#beating;
    // The file stays, without a holder: the next generation counts on from it.
    if ((await newestGeneration(this.#folder, this.#name)) !== this.generation) return;
    await writeFileDurably(this.#file, describe(null));
  }

  get #file(): string {
    return lockFile(this.#folder, this.#name, this.generation);
  }

  /** Shows those on other machines that we live, and finds out whether they believed it. */
  async #beat(): Promise<void> {
    try {
      const handle = await open(this.#file, 'r+');
      await writeFully(handle, this.#content, 0).finally(() => handle.close());
      if ((await newestGeneration(this.#folder, this.#name)) === this.generation) return;
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') return; // the next beat tries again
    }
    clearInterval(this.#timer);
    this.#lost.abort();
  }
}

/** The holder in this file, if it may still be alive. */
async function livingHolder(folder: string, file: string): Promise<ForeignLock | null> {
  let holder: ProcessIdentity | null;
  try {
    holder = JSON.parse(await readFile(file, 'utf8')).holder;
    if (holder === null) return null;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null; // replaced just now: creating the next one will tell
    holder = null;
  }
  const liveness = holder === null ? 'unknown' : livenessOf(holder);
  if (liveness === 'dead') return null;
  if (liveness === 'unknown' && (await silenceOf(folder, file)) > SILENCE_MS) return null;
  return { held: false, holder, file };
}

/** Milliseconds since the file was written, by the clock that stamps files in its folder. */
async function silenceOf(folder: string, file: string): Promise<number> {
  const probe = join(folder, `${randomUUID()}${UNFINISHED}`);
  try {
    await writeNewFile(probe, Buffer.alloc(1));
    return (await stat(probe)).mtimeMs - (await stat(file)).mtimeMs;
  } finally {
    await rm(probe, { force: true });
  }
}

/** Creates a file together with its content; false if there is one of this name already. */
async function createWhole(file: string, content: Buffer): Promise<boolean> {
  const unfinished = `${file}.${randomUUID()}${UNFINISHED}`;
  try {
    await writeNewFile(unfinished, content);
    await link(unfinished, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}

function lockFile(folder: string, name: string, generation: number): string {
  return join(folder, `${encodeURIComponent(name)}.${generation}.lock`);
}

function describe(holder: ProcessIdentity | null): Buffer {
  return Buffer.from(`${JSON.stringify({ holder }, null, 2)}\n`);
}
