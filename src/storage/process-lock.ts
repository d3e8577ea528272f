import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { every, type Repeated } from '../every.ts';
import { StoreUnavailableError } from '../store-errors.ts';
import {
  createFileWhole,
  createFolder,
  overwriteFile,
  syncFolder,
  UNFINISHED,
  writeFileDurably,
  writeNewFile,
} from './durable-file.ts';
import { askForLife, LifeSign } from './life-sign.ts';
import { currentProcess, type ProcessIdentity } from './process-identity.ts';
import { errorCode, LockLostError } from './storage-errors.ts';

/** A lock that this process holds. */
export interface HeldLock {
  readonly held: true;
  /** 1 for the first holder of this name, and greater for every later one, also after restarts. */
  readonly generation: number;
  /**
   * What became of the holder before: `silent` when it was taken for dead because nothing was heard or seen of it.
   * It may wake up in the middle of a write, so files that it had open must not be written to any more.
   */
  readonly predecessor: 'ended' | 'silent';
  /** Aborted once it was released, or, with a `LockLostError`, when somebody else took it. */
  readonly lost: AbortSignal;
  /**
   * Makes sure that nobody has taken the lock. Whoever acknowledges what it wrote asks in between: everybody who
   * takes the lock later finds it. @throws LockLostError
   */
  verify(): Promise<void>;
  release(): Promise<void>;
}

/** Somebody else's lock. */
export interface ForeignLock {
  readonly held: false;
  readonly holder: ProcessIdentity | null;
  /** It was seen to live. If not, it was heard of lately, and nothing better is known. */
  readonly isAlive: boolean;
}

const BEAT_MS = 3_000;
/** A holder that cannot be asked and was not heard of for so long is taken for dead. */
export const SILENCE_MS = 15_000;

/**
 * Takes a lock among processes that share a folder, or answers who holds it. A holder that died is succeeded.
 *
 * Every holder creates a file of its own, `<name>.<generation>.lock`; the highest generation holds the lock. So
 * creating the next file is the one atomic step, and there is no moment at which a stale file is removed to
 * make room, which two processes could do at the same time. A holder on the same kernel shows a sign of life that
 * can be asked; any other one is believed by its beats, and may have been paused.
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
      if (before.verdict === 'alive' || before.verdict === 'heard of') {
        return { held: false, holder: before.holder, isAlive: before.verdict === 'alive' };
      }
      sign ??= await LifeSign.show(folder);
      const content = describe({ ...self, socket: sign.name });
      const mine = lockFile(folder, name, newest + 1);
      if (!(await createFileWhole(mine, content))) continue;
      // Ours may be an old number whose file had been cleaned away already: then a higher one stands.
      if ((await newestGeneration(folder, name)) !== newest + 1) {
        await rm(mine, { force: true });
        continue;
      }
      await syncFolder(folder);
      // Before anything is written under this lock: by its missing file an earlier holder knows that it lost.
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

/** The generation of the newest holder, 0 when there was none. */
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

interface LockPlace {
  readonly folder: string;
  readonly name: string;
  readonly content: Buffer;
  readonly sign: LifeSign;
}

class FileLock implements HeldLock {
  readonly held = true;
  readonly generation: number;
  readonly predecessor: 'ended' | 'silent';
  readonly #place: LockPlace;
  readonly #file: string;
  readonly #lost = new AbortController();
  readonly #beats: Repeated;
  #released: Promise<void> | null = null;

  constructor(place: LockPlace, generation: number, predecessor: 'ended' | 'silent') {
    this.#place = place;
    this.generation = generation;
    this.predecessor = predecessor;
    this.#file = lockFile(place.folder, place.name, generation);
    this.#beats = every(BEAT_MS, () => this.#beat(), { onError: () => {} }); // the next beat tries again
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async verify(): Promise<void> {
    if (!this.#lost.signal.aborted && !(await isThere(this.#file))) this.#lose();
    this.#lost.signal.throwIfAborted();
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    await this.#beats.close();
    const isOurs = !this.#lost.signal.aborted;
    this.#lost.abort(new StoreUnavailableError('The lock was given up by this process itself.'));
    // The file stays, without a holder: the next generation counts on from it.
    try {
      if (isOurs && (await isThere(this.#file))) await writeFileDurably(this.#file, describe(null));
    } finally {
      await this.#place.sign.hide(); // on a full disk that has to do
    }
  }

  /** Shows those who cannot ask that we live, and finds out whether they believed it. */
  async #beat(): Promise<void> {
    const { folder, name, content } = this.#place;
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
        `Another process has taken "${this.#place.folder}", because this one was not heard of for ` +
          `${SILENCE_MS / 1000} seconds, or because its lock was deleted. Nothing more is written here.`,
      ),
    );
  }
}

interface Holder extends ProcessIdentity {
  readonly socket: string | null;
}

interface Judged {
  readonly verdict: 'ended' | 'silent' | 'alive' | 'heard of';
  readonly holder: Holder | null;
}

/** No lock file: a new folder, or somebody deleted it, whose process may live on. */
const NOBODY: Judged & { readonly verdict: 'silent' } = { verdict: 'silent', holder: null };

const VERDICTS = { alive: 'alive', dead: 'ended', gone: 'silent' } as const;

async function judgeHolder(folder: string, file: string, self: ProcessIdentity): Promise<Judged> {
  const read = await readHolder(file);
  if (read === 'nobody') return { verdict: 'ended', holder: null };
  const holder = read === 'unreadable' ? null : read;
  const canBeAsked = holder !== null && self.kernel !== null && holder.kernel === self.kernel;
  if (canBeAsked && holder.socket !== null) {
    const life = await askForLife(folder, basename(holder.socket));
    if (life !== 'unknown') return { verdict: VERDICTS[life], holder };
  }
  const silence = await silenceOf(folder, file);
  return { verdict: silence > SILENCE_MS ? 'silent' : 'heard of', holder };
}

async function readHolder(file: string): Promise<Holder | 'nobody' | 'unreadable'> {
  try {
    return JSON.parse(await readFile(file, 'utf8')).holder ?? 'nobody';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'nobody'; // replaced just now: creating the next one will tell
    if (error instanceof SyntaxError) return 'unreadable';
    throw error;
  }
}

/** Milliseconds since the file was written, by the clock that stamps files in its folder. */
async function silenceOf(folder: string, file: string): Promise<number> {
  const probe = join(folder, `${randomUUID()}${UNFINISHED}`);
  try {
    await writeNewFile(probe, Buffer.alloc(1));
    return (await stat(probe)).mtimeMs - (await stat(file)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0; // replaced just now
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

async function isThere(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

function lockFile(folder: string, name: string, generation: number): string {
  return join(folder, `${encodeURIComponent(name)}.${generation}.lock`);
}

function describe(holder: Holder | null): Buffer {
  return Buffer.from(`${JSON.stringify({ holder }, null, 2)}\n`);
}
