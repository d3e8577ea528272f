import { dirname } from 'node:path';

/** The disk is full, away or failing, or too much is waiting for it. Nothing of what was asked was kept. */
export class StorageUnavailableError extends Error {
  override readonly name: string = 'StorageUnavailableError';
}

/** Another process has taken what this one wrote to: it must stop. Nothing of what was asked was acknowledged. */
export class LockLostError extends StorageUnavailableError {
  override readonly name = 'LockLostError';
}

/** Something was sent or written, and it is not known whether it took effect. The message says how that came. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly retryAfterSeconds = 1;
  readonly suggestedFix =
    'Send it again: with the same Idempotency-Key (rewards: `idempotencyKey`) it takes effect once. Without one, look first whether it has.';

  constructor(how: string, options?: ErrorOptions) {
    super(`It is not known whether this was applied; it may have been. ${how}`, options);
  }
}

/** Records that were asked for are older than the oldest that is kept. */
export class StorageTrimmedError extends Error {
  override readonly name = 'StorageTrimmedError';
}

/** Bytes that were durable once do not read back as they were written. */
export class StorageCorruptError extends Error {
  override readonly name = 'StorageCorruptError';
  readonly file: string;
  /** Byte at which the first unreadable record starts; everything before it is intact. */
  readonly offset: number;
  /** The newest record before that byte, where the reader knew it. */
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

/** Records are gone that were durable once, as somebody knows who read them. Nothing was changed. */
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

/** Wraps what the file system threw; an error that is typed already passes through. */
export function unavailable(error: unknown, what: string): Error {
  const isTyped =
    error instanceof StorageUnavailableError ||
    error instanceof OutcomeUnknownError ||
    error instanceof StorageCorruptError ||
    error instanceof StorageIncompleteError;
  if (isTyped) return error;
  const code = errorCode(error);
  const reason = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : (code ?? String(error));
  return new StorageUnavailableError(`${what}: ${reason}.`, { cause: error });
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}
