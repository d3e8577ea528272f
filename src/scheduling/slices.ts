/** Work that yields where it may be interrupted, and returns its result. */
export type Steps<Result> = Generator<void, Result>;

/** A slice ends with the first step that ends later than this. */
const SLICE_MS = 3;

/** Does the work without a pause: for threads and commands that have nothing else to do. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Does the work in slices of a few milliseconds; between them the event loop has its turn. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const end = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (performance.now() < end);
    await nextTurn();
  }
}

/** `items.map(each)` with a pause after every item. */
export function* mapInSteps<Item, Result>(
  items: readonly Item[],
  each: (item: Item, index: number) => Result,
): Steps<Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < items.length; index++) {
    results.push(each(items[index], index));
    yield;
  }
  return results;
}

/** The same where every item is many steps of its own. */
export function* eachInSteps<Item, Result>(
  items: readonly Item[],
  each: (item: Item) => Steps<Result>,
): Steps<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(yield* each(item));
    yield;
  }
  return results;
}

/**
 * Everybody who has more to do, first come, first served. The event loop is one, and so is this queue: of all large
 * work in the process one slice is done per turn of the loop, however many such requests there are.
 */
const waiting: (() => void)[] = [];

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGo);
  });
}

function letOneGo(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGo);
}
