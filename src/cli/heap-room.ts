import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of garbage that may gather in the heap before it is collected as a whole. */
const ROOM = 96 * 1024 * 1024;
/** V8 itself lets the heap grow to four times what lives in it, and by no less than this. */
const MOST_PERCENT = 300;
const LEAST_PERCENT = 10;

/**
 * Makes collections of the whole heap of this process rare, until it is closed. A service that leaves little garbage is taken by
 * V8 for one that should be kept small: it then collects the whole heap every few megabytes. For as long as that takes, tens of
 * milliseconds, V8's other threads and the event loop share the cores.
 */
export function keepHeapRoom(): { close(): void } {
  grow();
  const observer = new PerformanceObserver((list) => {
    const isWhole = ({ detail }: PerformanceEntry) =>
      (detail as { readonly kind?: number }).kind === constants.NODE_PERFORMANCE_GC_MAJOR;
    if (list.getEntries().some(isWhole)) grow();
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    close: () => {
      observer.disconnect();
      setFlagsFromString('--heap-growing-percent=0');
    },
  };
}

/** Sets how far the heap may grow after the next collection, by what lives now. */
function grow(): void {
  let living = 0;
  for (const { space_name, space_used_size } of getHeapSpaceStatistics())
    if (!space_name.startsWith('new')) living += space_used_size;
  setFlagsFromString(`--heap-growing-percent=${growth(living)}`);
}

/** Returns by how many percent a heap may grow after the next collection, if so many bytes live in it. */
export function growth(living: number): number {
  return Math.min(MOST_PERCENT, Math.max(LEAST_PERCENT, Math.round((100 * ROOM) / living)));
}
