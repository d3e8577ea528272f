/** After so many failed attempts a job is buried. */
export const MAX_ATTEMPTS = 10;

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

/** How long a job waits after its n-th failed attempt, n = 1, 2, …: 1 s · 2^(n−1), at most a minute. */
export function retryDelayMs(failedAttempts: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failedAttempts - 1));
}
