/** The disk is full, away or failing, or too much is waiting for it. Nothing of what was asked was kept. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
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

  constructor(file: string, offset: number, what: string) {
    super(
      `"${file}" is damaged at byte ${offset}: ${what}. Everything before that byte is intact. ` +
        `Restore the file from a backup, or give up what follows with: ` +
        `bandolier repair "${file}" --truncate-at ${offset}`,
    );
    this.file = file;
    this.offset = offset;
  }
}

/** Wraps what the file system threw; an error that is typed already passes through. */
export function unavailable(error: unknown, what: string): Error {
  if (error instanceof StorageUnavailableError || error instanceof StorageCorruptError) return error;
  const code = errorCode(error);
  const reason = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : (code ?? String(error));
  return new StorageUnavailableError(`${what}: ${reason}.`, { cause: error });
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}
