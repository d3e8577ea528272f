import { expect, it } from 'vitest';
import { QueuedSettlements } from '../../src/decisions/settlements.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import type { Job } from '../../src/queue/job-queue.ts';
import { sampleDecision } from './arbitrary-decision.ts';

/** A queue that is away at first. */
class Awaited {
  isAway = true;
  /** How many more it takes. */
  room = Number.POSITIVE_INFINITY;
  readonly taken: string[] = [];
  attempts = 0;
  /** What an attempt waits for before it is answered. */
  door: Promise<void> = Promise.resolve();

  async add(jobs: readonly Job[]): Promise<void> {
    this.attempts++;
    if (this.isAway) throw new StoreUnavailableError('away');
    await this.door;
    if (this.isAway || jobs.length > this.room) throw new StoreUnavailableError('full');
    this.room -= jobs.length;
    this.taken.push(...jobs.map(({ id }) => id));
  }
}

const settle = (settlements: QueuedSettlements, id: string) => settlements.settle(sampleDecision(id, 0, 2));
const names = (count: number) => Array.from({ length: count }, (_, i) => `default.${i}`);

it('a settlement that comes while others are sent again is sent too', async () => {
  const queue = new Awaited();
  const settlements = new QueuedSettlements(queue);
  await settle(settlements, 'default.0');
  let open = (): void => {};
  queue.door = new Promise((resolve) => {
    open = resolve;
  });
  queue.isAway = false;
  const before = queue.attempts;
  await expect.poll(() => queue.attempts, { timeout: 5_000 }).toBeGreaterThan(before);
  // The first is on its way; the next one finds the queue away for a moment.
  queue.isAway = true;
  await settle(settlements, 'default.1');
  queue.isAway = false;
  open();
  await expect
    .poll(() => queue.taken, { timeout: 5_000 })
    .toEqual(['settlement-default.0-600000', 'settlement-default.1-600000']);
  await settlements.close();
});

it('as many settlements go as there is room for', async () => {
  const queue = new Awaited();
  const settlements = new QueuedSettlements(queue);
  for (const id of names(250)) await settle(settlements, id);
  queue.room = 120;
  queue.isAway = false;
  await expect.poll(() => queue.taken.length, { timeout: 5_000 }).toBeGreaterThan(100);
  queue.room = Number.POSITIVE_INFINITY;
  await expect
    .poll(() => queue.taken, { timeout: 5_000 })
    .toEqual(names(250).map((id) => `settlement-${id}-600000`));
  await settlements.close();
});

it('what waits when it ends is sent once more, and nothing is tried after that', async () => {
  for (const isAway of [false, true]) {
    const queue = new Awaited();
    const settlements = new QueuedSettlements(queue);
    for (const id of names(3)) await settle(settlements, id);
    queue.isAway = isAway;
    await settlements.close();
    expect(queue.taken).toHaveLength(isAway ? 0 : 3);
    const { attempts } = queue;
    await new Promise((resolve) => setImmediate(resolve));
    expect(queue.attempts).toBe(attempts);
  }
});
