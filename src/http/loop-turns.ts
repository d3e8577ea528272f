/**
 * Measures a turn of the event loop for each time it is asked to, one at a time: from the end of one turn to the end of
 * the next, which does not wait for anything in between. So it is the time for which there was something to do.
 */
export function loopTurns(onTurn: (ms: number) => void): () => void {
  let isMeasuring = false;
  return () => {
    if (isMeasuring) return;
    isMeasuring = true;
    setImmediate(() => {
      const start = performance.now();
      setImmediate(() => {
        isMeasuring = false;
        onTurn(performance.now() - start);
      });
    });
  };
}
