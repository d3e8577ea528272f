/** A document holds no tools that can be read. The message is for people and says how to mend it. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}
