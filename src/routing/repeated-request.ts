import { createHash } from 'node:crypto';
import { Problem } from '../errors/problem.ts';

/**
 * Identifies a request, 32 hexadecimal digits. Its Idempotency-Key is one of the parts, so that the digest says nothing about the query to
 * those who guess.
 */
export function requestDigest(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Returns what the first request with a key led to, if it was this very request. @throws Problem idempotency-conflict */
export function ofSameRequest<Made extends { readonly request?: string }>(
  first: Made,
  digest: string | undefined,
): Made {
  if (first.request === digest) return first;
  throw new Problem(
    'idempotency-conflict',
    'This Idempotency-Key was used for another request.',
    'Use a new key for a new request; repeat a key only to repeat the very same one.',
  );
}
