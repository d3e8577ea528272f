import { OutcomeUnknownError, StoreUnavailableError } from '../errors/store-errors.ts';

/** What a connection says of commands that it never sent. */
const NOT_SENT = /isn't (writeable|ready)|Failed to refresh slots/;

/**
 * Whether a command that failed may have been run all the same: it was sent, and no answer came. What Redis itself
 * refuses was not run, nor what was never sent.
 */
export function mayHaveRun(error: unknown): boolean {
  const { name, message } = error as Error;
  return name !== 'ReplyError' && !NOT_SENT.test(message);
}

/**
 * Runs commands, and says with a StoreUnavailableError if Redis refuses them or does not answer.
 * @param what the subject of the message: "The job queue"
 * @throws OutcomeUnknownError, and other StoreUnavailableErrors, as `work` throws them
 */
export async function available<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(what, error);
  }
}

/** What `available` throws in place of this error. */
export function unavailable(what: string, error: unknown): Error {
  if (error instanceof StoreUnavailableError || error instanceof OutcomeUnknownError) return error;
  const message = `${what} in Redis cannot be used: ${(error as Error).message}`;
  return new StoreUnavailableError(message, { cause: error });
}

/**
 * Runs a command that changes something. @throws OutcomeUnknownError when it failed and may have taken effect all the same
 * @param mayHaveTakenEffect judges the failure; `mayHaveRun` is right for a command that takes effect whole or not at all
 */
export async function answered<T>(
  command: () => Promise<T>,
  mayHaveTakenEffect: (error: unknown) => boolean = mayHaveRun,
): Promise<T> {
  try {
    return await command();
  } catch (error) {
    if (!mayHaveTakenEffect(error)) throw error;
    const how = isRefusal(error) ? 'Redis refused at least part of it' : 'Redis did not answer';
    throw new OutcomeUnknownError(`${how}: ${(error as Error).message}.`, { cause: error });
  }
}

/** Whether Redis answered, with an error. */
export function isRefusal(error: unknown): boolean {
  return (error as Error).name === 'ReplyError';
}
