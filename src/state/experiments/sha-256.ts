import { createHash } from 'node:crypto';

/** SHA-256 for the assignment of units: see `Sha256` in bandit/assignment/bucket.ts. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
