import { dirname } from 'node:path';
import { OutcomeUnknownError, StoreUnavailableError } from '../errors/store-errors.ts';

/** Thrown when another process has taken the lock of the data folder, so that this one must stop. Nothing was acknowledged. */
export class LockLostError extends StoreUnavailableError {
  override readonly name = 'LockLostError';
}

/** Thrown when requested records are older than the oldest that is kept. */
export class StorageTrimmedError extends Error {
  override readonly name = 'StorageTrimmedError';
}

/** Thrown when durable bytes are not as they were written. */
export class StorageCorruptError extends Error {
  override readonly name = 'StorageCorruptError';
  readonly file: string;
  /** Byte at which the first unreadable record starts; everything before it is intact. */
  readonly offset: number;
  /** The newest record before that byte, if the reader knew it. */
  readonly intactUpTo: number;

  constructor(file: string, offset: number, what: string, intactUpTo = Number.POSITIVE_INFINITY) {
    super(
      `"${file}" is damaged at byte ${offset}: ${what}. Everything before that byte is intact. ` +
        `Restore the file from a backup, or give up what follows with: ` +
        `bandolier repair "${file}" --truncate-at ${offset}`,
    );
    this.file = file;
    this.offset = offset;
    this.intactUpTo = intactUpTo;
  }
}

/** Thrown when durable records are missing, as a snapshot that was made from them shows. Nothing was changed. */
export class StorageIncompleteError extends Error {
  override readonly name = 'StorageIncompleteError';
  readonly folder: string;

  /** @param file the segment in which the intact records end with `last` */
  constructor(file: string, last: number, knownUpTo: number, options?: ErrorOptions) {
    super(
      `"${file}" is missing, cut or damaged: its intact records end with ${last}, but there were ${knownUpTo}`,
      options,
    );
    this.folder = dirname(file);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EACCES: 'this user may not write there (EACCES)',
  EPERM: 'this user may not write there (EPERM)',
  EROFS: 'the file system is read-only (EROFS)',
  ENOTDIR: 'a file is where a folder has to be (ENOTDIR)',
  ENOENT: 'it is not there and cannot be created (ENOENT)',
};

/** Returns a StoreUnavailableError for an error of the file system, and an error that is typed already unchanged. */
export function unavailable(error: unknown, what: string): Error {
  const isTyped =
    error instanceof StoreUnavailableError ||
    error instanceof OutcomeUnknownError ||
    error instanceof StorageCorruptError ||
    error instanceof StorageIncompleteError;
  if (isTyped) return error;
  const code = errorCode(error);
  const reason = code === undefined ? String(error) : (REASONS[code] ?? code);
  return new StoreUnavailableError(`${what}: ${reason}.`, { cause: error });
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** Returns what is read; null: the file is not there. */
export async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}
