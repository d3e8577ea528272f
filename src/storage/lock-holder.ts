import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { UNFINISHED, writeNewFile } from './durable-file.ts';
import { askForLife } from './life-sign.ts';
import { errorCode } from './storage-errors.ts';

/** A process: its number and host, for messages, and the kernel it runs on. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /**
   * Identifies one boot of one machine, and is the same in all its containers. Null if it is not known: then every other process
   * is treated as one on another machine.
   */
  readonly kernel: string | null;
}

export function currentProcess(): ProcessIdentity {
  const host = hostname();
  return { pid: process.pid, host, kernel: process.platform === 'linux' ? bootId() : host };
}

function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null; // no /proc
  }
}

/** A holder that cannot be asked is taken for dead when its last sign of life is older than this; ms. */
export const SILENCE_MS = 15_000;

/** The content of a lock file. */
export interface Holder extends ProcessIdentity {
  /** File name of its life sign, in the same folder. */
  readonly socket: string | null;
}

/**
 * What is known of the holder of a lock:
 *
 * - `ended`: it released the lock, or its process has ended for certain;
 * - `silent`: it cannot be asked, and its last sign of life is more than 15 s old, so it is taken for dead;
 * - `alive`: its process answered;
 * - `recent`: it cannot be asked, and its last sign of life is recent.
 */
export interface Judged {
  readonly verdict: 'ended' | 'silent' | 'alive' | 'recent';
  readonly holder: Holder | null;
}

/** There is no lock file: the folder is new, or a user deleted the file while its process may still run. */
export const NOBODY: Judged & { readonly verdict: 'silent' } = { verdict: 'silent', holder: null };

const VERDICTS = { alive: 'alive', dead: 'ended', gone: 'silent' } as const;

/** Asks the holder of this lock file whether it is alive, or else judges by the age of its last sign of life. */
export async function judgeHolder(folder: string, file: string, self: ProcessIdentity): Promise<Judged> {
  const read = await readHolder(file);
  if (read === 'released') return { verdict: 'ended', holder: null };
  const holder = read === 'unreadable' ? null : read;
  const canBeAsked = holder !== null && self.kernel !== null && holder.kernel === self.kernel;
  if (canBeAsked && holder.socket !== null) {
    const life = await askForLife(folder, basename(holder.socket));
    if (life !== 'unknown') return { verdict: VERDICTS[life], holder };
  }
  const silence = await silenceOf(folder, file);
  return { verdict: silence > SILENCE_MS ? 'silent' : 'recent', holder };
}

async function readHolder(file: string): Promise<Holder | 'released' | 'unreadable'> {
  try {
    return JSON.parse(await readFile(file, 'utf8')).holder ?? 'released';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'released'; // replaced a moment ago: creating the next one will show it
    if (error instanceof SyntaxError) return 'unreadable';
    throw error;
  }
}

/** Returns the milliseconds since the file was written, by the clock of its file system. */
async function silenceOf(folder: string, file: string): Promise<number> {
  const probe = join(folder, `${randomUUID()}${UNFINISHED}`);
  try {
    await writeNewFile(probe, Buffer.alloc(1));
    return (await stat(probe)).mtimeMs - (await stat(file)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0; // replaced a moment ago
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

/** Returns the content of a lock file; null: it was released. */
export function describe(holder: Holder | null): Buffer {
  return Buffer.from(`${JSON.stringify({ holder }, null, 2)}\n`);
}
