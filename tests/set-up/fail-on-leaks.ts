import { afterAll, beforeAll } from 'vitest';

/** What keeps the event loop alive, by kind, without what belongs to the test runner. */
function activeResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

let before = new Map<string, number>();
beforeAll(() => {
  before = activeResources();
});

const TIMEOUT_MS = 3000;

/** A test file that leaves sockets, timers, threads or children behind fails. What is closing may finish. */
afterAll(async () => {
  const deadline = performance.now() + TIMEOUT_MS;
  let left = leaked();
  while (left.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    left = leaked();
  }
  if (left.length > 0) throw new Error(`This file leaves something running: ${left.join(', ')}.`);
});

function leaked(): string[] {
  return [...activeResources()]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${kind} × ${count - (before.get(kind) ?? 0)}`);
}
