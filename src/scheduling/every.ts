/** Work that is repeated until it is closed. */
export interface Repeated {
  /** Runs the work now, or joins the run in flight. Never rejects; does nothing once it is closed. */
  now(): Promise<void>;
  /** Resolves when no run is in flight. */
  idle(): Promise<void>;
  /** Aborts the signal of the run in flight, resolves when that run has ended, and starts no other. */
  close(): Promise<void>;
}

export interface RepeatOptions {
  /** Receives what a run throws; the next run takes place all the same. */
  onError(error: unknown): void;
  /** Delay of the first run, ms; the interval if it is not set. */
  readonly firstMs?: number;
}

/**
 * Runs `work` every `ms` milliseconds, never twice at once: while a run is in flight, the next one is skipped. The timer
 * keeps no process alive. The signal is aborted by `close`, so that long work may end early.
 */
export function every(
  ms: number,
  work: (signal: AbortSignal) => unknown,
  { onError, firstMs = ms }: RepeatOptions,
): Repeated {
  const closing = new AbortController();
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    try {
      await work(closing.signal);
    } catch (error) {
      onError(error);
    }
  };
  const now = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    running ??= run().finally(() => {
      running = null;
    });
    await running;
  };
  let timer = setTimeout(tick, firstMs).unref();
  function tick(): void {
    timer = setTimeout(tick, ms).unref();
    void now();
  }
  return {
    now,
    idle: async () => {
      await running;
    },
    close: async () => {
      clearTimeout(timer);
      closing.abort();
      await running;
    },
  };
}
