import { afterEach, describe, expect, it } from 'vitest';
import { StoreClock } from '../../src/stores/store-clock.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const YEAR = 365 * 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

/** A machine and a Redis whose clocks are turned by hand. */
function machine() {
  const at = { steady: 5_000, asleep: 0, wall: START, reference: START };
  const said: string[] = [];
  return {
    at,
    said,
    pass(ms: number): void {
      at.steady += ms;
      at.wall += ms;
      at.reference += ms;
    },
    start: async (reference: 'this machine' | 'Redis' = 'Redis') => {
      const clock = await StoreClock.start({
        reference,
        ask: () => (reference === 'Redis' ? at.reference : at.wall),
        wallNow: () => at.wall,
        steadyNow: () => at.steady,
        uptimeNow: () => at.steady + at.asleep,
        onSkew: (sentence) => said.push(sentence),
      });
      clocks.push(clock);
      return clock;
    },
  };
}

const clocks: StoreClock[] = [];
afterEach(() => {
  for (const clock of clocks.splice(0)) clock.close();
});

describe('the clock of the store', () => {
  it('goes on steadily when the clock of the machine is set, and names it', async () => {
    const { at, said, pass, start } = machine();
    const clock = await start('this machine');
    for (const set of [3 * HOUR, -10 * YEAR]) {
      const before = clock.now();
      at.wall += set;
      pass(10 * SECOND);
      await clock.look();
      expect(clock.now()).toBe(before + 10 * SECOND);
      expect(said.at(-1)).toContain(`was set ${set > 0 ? '3.0 hours ahead' : '3649.9 days behind'}`);
    }
    await clock.look();
    expect(said).toHaveLength(2);
  });

  it('takes the time of Redis, not of the machine, and says by how much they differ', async () => {
    const { at, said, pass, start } = machine();
    at.wall += 3 * HOUR;
    const clock = await start();
    expect(clock.now()).toBe(START);
    pass(SECOND);
    expect(clock.now()).toBe(START + SECOND);
    clock.report();
    clock.report();
    expect(said).toEqual([expect.stringContaining('machine is 3.0 hours ahead of that of Redis')]);
    at.wall -= 6 * HOUR;
    clock.report();
    expect(said.at(-1)).toContain('machine is 3.0 hours behind that of Redis');
  });

  it.each([3 * HOUR, 10 * YEAR])('is never behind what is stored: %i ms ahead', async (ahead) => {
    const { said, pass, start } = machine();
    const clock = await start();
    clock.notice(START + ahead);
    expect(clock.now()).toBe(START + ahead);
    pass(SECOND);
    expect(clock.now()).toBe(START + ahead + SECOND);
    expect(clock.referenceNow()).toBe(START + SECOND);
    clock.notice(START - ahead);
    expect(clock.now()).toBe(START + ahead + SECOND);
    clock.report();
    expect(said).toEqual([expect.stringContaining('What is stored is')]);
  });

  it('does not run away when processes see each other a moment ahead', async () => {
    const { pass, start } = machine();
    const [one, other] = [await start(), await start()];
    for (let i = 0; i < 100; i++) {
      one.notice(other.now() + 40);
      other.notice(one.now() + 40);
      pass(SECOND);
    }
    expect(one.now()).toBe(START + 100 * SECOND);
  });

  it('follows drift and sleep, and never goes back', async () => {
    const { at, said, pass, start } = machine();
    const clock = await start();
    at.reference += 300;
    await clock.look();
    expect(clock.now()).toBe(START + 300);
    at.reference -= 200;
    await clock.look();
    expect(clock.now()).toBe(START + 300);
    pass(500);
    expect(clock.now()).toBe(START + 600);
    at.asleep += 8 * HOUR;
    at.wall += 8 * HOUR;
    at.reference += 8 * HOUR;
    await clock.look();
    expect(clock.now()).toBe(START + 600 + 8 * HOUR);
    expect(said).toEqual([]);
  });

  it.each([2, 4.9, -2, -4.9])(
    'follows a step of %d seconds, by which NTP sets a clock right',
    async (seconds) => {
      const { at, said, pass, start } = machine();
      const clock = await start();
      expect(clock.now()).toBe(START);
      at.reference += seconds * SECOND;
      at.wall += seconds * SECOND;
      await clock.look();
      expect(clock.referenceNow()).toBe(at.reference);
      expect(clock.now()).toBe(Math.max(START, at.reference));
      pass(10 * SECOND);
      expect(clock.now()).toBe(at.reference);
      expect(said).toEqual([]);
    },
  );
});
