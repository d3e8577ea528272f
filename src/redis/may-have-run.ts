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
