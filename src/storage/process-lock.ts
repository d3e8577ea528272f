import { statSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import {
  createFileWhole,
  createFolder,
  isThere,
  overwriteFile,
  syncFolder,
  writeFileDurably,
} from './durable-file.ts';
import { LifeSign } from './life-sign.ts';
import {
  currentProcess,
  describe,
  judgeHolder,
  NOBODY,
  type ProcessIdentity,
  SILENCE_MS,
} from './lock-holder.ts';
import { errorCode, LockLostError } from './storage-errors.ts';

/** A lock that this process holds. */
export interface HeldLock {
  readonly held: true;
  /** 1 for the first holder of this name, and greater for every later one, also after restarts. */
  readonly generation: number;
  /**
   * What became of the holder before. `silent`: it was taken for dead because it showed no sign of life. It may be
   * paused in the middle of a write and go on, so files that it had open must not be written to any more.
   */
  readonly predecessor: 'ended' | 'silent';
  /** Aborts when the lock is released, or with a `LockLostError` when another process took it. */
  readonly lost: AbortSignal;
  /**
   * Checks that no other process has taken the lock. Call it between a write and its acknowledgement: then every later
   * holder finds what was acknowledged. It looks for a name that the kernel has in memory, which takes less than to hand it to
   * another thread; where the disk hangs, the write before it does. @throws LockLostError
   */
  verify(): void;
  release(): Promise<void>;
}

/** A lock that another process holds. */
export interface ForeignLock {
  readonly held: false;
  readonly holder: ProcessIdentity | null;
  /** True: its process answered. False: it cannot be asked, and its last sign of life is recent. */
  readonly isAlive: boolean;
}

/** How often a holder shows that it is alive to those who cannot ask it. */
const BEAT_MS = 3_000;
const IF_THERE = { throwIfNoEntry: false };

/**
 * Takes a lock among processes that share a folder, or returns who holds it. The lock of a dead process is taken over.
 *
 * Every holder creates a file of its own, `<name>.<generation>.lock`, and the highest generation holds the lock, as a
 * fencing token does. Creating the next file is the only atomic step: no stale file has to be removed first, which two
 * processes could do at the same time. A holder on the same kernel can be asked whether it is alive (`LifeSign`). Any
 * other one is judged by its heartbeats, and may only be paused.
 */
export async function takeLock(
  folder: string,
  name: string,
  self: ProcessIdentity = currentProcess(),
): Promise<HeldLock | ForeignLock> {
  await createFolder(folder);
  let sign: LifeSign | null = null;
  let lock: FileLock | null = null;
  try {
    while (lock === null) {
      const newest = await newestGeneration(folder, name);
      const before = newest === 0 ? NOBODY : await judgeHolder(folder, lockFile(folder, name, newest), self);
      if (before.verdict === 'alive' || before.verdict === 'recent') {
        return { held: false, holder: before.holder, isAlive: before.verdict === 'alive' };
      }
      sign ??= await LifeSign.show(folder);
      const content = describe({ ...self, socket: sign.name });
      const mine = lockFile(folder, name, newest + 1);
      if (!(await createFileWhole(mine, content))) continue;
      // An old number, whose file had been removed already: then there is a higher one.
      if ((await newestGeneration(folder, name)) !== newest + 1) {
        await rm(mine, { force: true });
        continue;
      }
      await syncFolder(folder);
      // Before anything is written under this lock: an earlier holder knows by its missing file that it lost.
      for (const earlier of await generations(folder, name)) {
        if (earlier <= newest) await rm(lockFile(folder, name, earlier), { force: true });
      }
      if (before.holder?.socket) await rm(join(folder, basename(before.holder.socket)), { force: true });
      lock = new FileLock({ folder, name, content, sign }, newest + 1, before.verdict);
    }
    return lock;
  } finally {
    if (lock === null) await sign?.hide();
  }
}

/** Returns the generation of the newest holder, 0 when there was none. */
export async function newestGeneration(folder: string, name: string): Promise<number> {
  return Math.max(0, ...(await generations(folder, name)));
}

async function generations(folder: string, name: string): Promise<number[]> {
  const prefix = `${encodeURIComponent(name)}.`;
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((file) => file.startsWith(prefix) && file.endsWith('.lock'))
    .map((file) => file.slice(prefix.length, -'.lock'.length))
    .filter((digits) => /^\d+$/.test(digits))
    .map(Number);
}

interface LockFile {
  readonly folder: string;
  readonly name: string;
  readonly content: Buffer;
  readonly sign: LifeSign;
}

/**
 * A lock that this process holds, or held. Its states:
 *
 * - *held*: beats every 3 s; `verify` succeeds while the lock file is there.
 * - *lost*: a beat or `verify` found the file gone, changed, or followed by a higher generation. `lost` is aborted with a
 *   `LockLostError`, `verify` throws it, and the file is no longer touched.
 * - *released*: `release` was called. The file stays and names no holder, so that generations go on from it.
 */
class FileLock implements HeldLock {
  readonly held = true;
  readonly generation: number;
  readonly predecessor: 'ended' | 'silent';
  readonly #at: LockFile;
  readonly #file: string;
  readonly #lost = new AbortController();
  readonly #beats: Repeated;
  #released: Promise<void> | null = null;

  constructor(at: LockFile, generation: number, predecessor: 'ended' | 'silent') {
    this.#at = at;
    this.generation = generation;
    this.predecessor = predecessor;
    this.#file = lockFile(at.folder, at.name, generation);
    this.#beats = every(BEAT_MS, () => this.#beat(), { onError: () => {} }); // the next beat tries again
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  verify(): void {
    if (!this.#lost.signal.aborted && statSync(this.#file, IF_THERE) === undefined) this.#lose();
    this.#lost.signal.throwIfAborted();
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    await this.#beats.close();
    const isOurs = !this.#lost.signal.aborted;
    this.#lost.abort(new StoreUnavailableError('This process has released the lock.'));
    try {
      if (isOurs && (await isThere(this.#file))) await writeFileDurably(this.#file, describe(null));
    } catch {
      // On a full disk the sign alone has to do: without it, what the file names is a process that has ended.
    }
    await this.#at.sign.hide();
  }

  /** Shows that this process is alive, and finds out whether the lock was taken all the same. */
  async #beat(): Promise<void> {
    const { folder, name, content } = this.#at;
    try {
      const isOurs = content.equals(await readFile(this.#file));
      if (isOurs) await overwriteFile(this.#file, content);
      if (isOurs && (await newestGeneration(folder, name)) === this.generation) return;
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
    if (!this.#lost.signal.aborted) this.#lose();
  }

  #lose(): void {
    void this.#beats.close();
    this.#lost.abort(
      new LockLostError(
        `Another process has taken "${this.#at.folder}", because this one showed no sign of life for ` +
          `${SILENCE_MS / 1000} seconds, or because its lock file was deleted. Nothing more is written here.`,
      ),
    );
  }
}

function lockFile(folder: string, name: string, generation: number): string {
  return join(folder, `${encodeURIComponent(name)}.${generation}.lock`);
}
