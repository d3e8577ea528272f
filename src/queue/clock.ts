/** Time as the queue sees it, so that tests can turn it by hand. */
export interface Clock {
  /** ms since the epoch. */
  now(): number;
  /** Calls `action` once, `ms` from now; answers how to call it off. */
  after(ms: number, action: () => void): () => void;
}

/** The machine's clock. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};
