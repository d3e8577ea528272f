/** Resolves at the first Ctrl-C or SIGTERM; the second one ends the process at once. */
export function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals++;
      if (signals === 1) resolve();
      else process.exit(130);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
