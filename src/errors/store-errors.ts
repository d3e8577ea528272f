/**
 * Thrown when a store is full, away, closed, or used by another process, and nothing of the request was accepted: try again
 * later. All stores throw it: files, ledgers, the job queue, decision logs, Redis.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
  /** Sent as `Retry-After` by the HTTP layer. */
  readonly retryAfterSeconds: number = 1;
}

/** Thrown when the store holds what only another version of Bandolier can read. Nothing was changed. */
export class OtherVersionError extends Error {
  override readonly name = 'OtherVersionError';

  /** @param what with its version, as in "entries of version 3" */
  constructor(what: string, version: number) {
    super(
      `The store holds ${what}, and this Bandolier reads version ${version}: use the Bandolier that wrote it, or begin with an empty data folder or Redis.`,
    );
  }
}

/** Thrown when it is not known whether a command that was sent or written took effect. The message says why. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly retryAfterSeconds = 1;
  readonly suggestedFix =
    'Send it again: with the same Idempotency-Key (rewards: `idempotencyKey`) it takes effect once. Without one, look first whether it has.';

  constructor(how: string, options?: ErrorOptions) {
    super(`It is not known whether this was applied; it may have been. ${how}`, options);
  }
}

/** An error after which the same work may succeed later. */
export interface RetryableError extends Error {
  readonly retryAfterSeconds: number;
  /** Absent: nothing was accepted, and the request can be sent again. */
  readonly suggestedFix?: string;
}

/** Returns whether an error says that a store is full or away, so that the same work may succeed later. */
export function isStoreAway(error: unknown): error is RetryableError {
  return error instanceof Error && 'retryAfterSeconds' in error && error.retryAfterSeconds !== undefined;
}
