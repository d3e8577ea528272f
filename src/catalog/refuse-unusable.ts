import { EmbedderUnavailableError, UnusableModelError } from '../models/embedder.ts';
import { Problem } from '../problem.ts';

/** What is wrong with an embedder that a request needs, said to whoever sent it. @throws Problem */
export async function refusingUnusable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableModelError) {
      const violations = [{ path: 'embedder', message: error.message }];
      const fix = 'Name one that can be used; the catalog goes on with what it has.';
      throw new Problem('validation-failed', error.message, fix, { violations, cause: error });
    }
    if (!(error instanceof EmbedderUnavailableError)) throw error;
    throw new Problem('unavailable', error.message, 'Try again when it answers.', {
      retryAfterSeconds: 10,
      cause: error,
    });
  }
}
