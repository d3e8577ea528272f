/**
 * Returns what the work comes to, or rejects when the signal aborts, whatever becomes of the work: it goes on for others who wait for it.
 * @param reason what is thrown then; the signal's own by default
 */
export function orAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  reason: () => unknown = () => signal?.reason,
): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(reason());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
