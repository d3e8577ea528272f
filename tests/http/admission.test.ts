import { describe, expect, it } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { Admission } from '../../src/http/admission.ts';
import { percentile, type Stream, simulate } from './simulated-loop.ts';

const SECONDS = 4;
/** Some 1,100 of these a second are as many as the loop has time for. */
const routes = (perSecond: number, elsewhereMs = 4): Stream => ({
  ...{ kind: 'route', perSecond, elsewhereMs, work: [0.4, 0.5] },
});
const rewards: Stream = { kind: 'reward', perSecond: 200, work: [0.1, 0.1], elsewhereMs: 3 };
const reads: Stream = { kind: 'read', perSecond: 20, work: [0.1, 0.1], elsewhereMs: 1 };
const puts: Stream = { kind: 'change', perSecond: 30, work: [10, 10], elsewhereMs: 5 };

function run(streams: readonly Stream[], stalls?: { everyMs: number; ms: number }) {
  const random = randomFor('admission');
  let drawn = 0;
  return simulate(streams, {
    seconds: SECONDS,
    random: () => random.uniform(drawn++),
    ...(stalls && { stalls }),
  });
}

describe('in simulated time', () => {
  it('nobody is refused where there is time for all', async () => {
    for (const stream of [routes(300), routes(500), routes(60, 300)]) {
      const [{ refused, accepted }] = await run([stream]);
      expect(refused).toEqual([]);
      expect(percentile(accepted, 0.99)).toBeLessThan(stream.elsewhereMs * 1.5 + 30);
    }
  });

  it.each([2, 5])('at %i times as many, some are answered soon and the others at once', async (times) => {
    const [{ accepted, refused }] = await run([routes(1100 * times)]);
    expect(percentile(accepted, 0.99)).toBeLessThan(60);
    expect(percentile(refused, 0.99)).toBeLessThan(20);
    // What refusing takes is missing: 0.07 ms each.
    expect(accepted.length / SECONDS).toBeGreaterThan(1050 - 90 * times);
  });

  it.each([16, 32, 64, 128])(
    '%i clients that ask again at once are served as fast as the loop can',
    async (clients) => {
      const [{ accepted, refused }] = await run([{ ...routes(0), clients }]);
      expect(accepted.length / SECONDS).toBeGreaterThan(700);
      if (clients <= 32) expect(refused).toEqual([]);
    },
  );

  it('waiting for other machines is no reason to refuse', async () => {
    const [{ accepted }] = await run([routes(400, 300)]);
    expect(accepted.length / SECONDS).toBeGreaterThan(370);
  });

  it('a process that stands still now and then refuses few for it', async () => {
    const [{ accepted, refused }] = await run([routes(300)], { everyMs: 500, ms: 80 });
    expect(refused.length).toBeLessThan(0.05 * accepted.length);
  });

  it('a flood of routes keeps neither rewards nor reads waiting', async () => {
    const [, ...others] = await run([routes(3000), rewards, reads]);
    for (const { accepted, refused } of others) {
      expect(refused).toEqual([]);
      expect(percentile(accepted, 0.99)).toBeLessThan(50);
    }
  });

  it('large changes leave routes what they do not take', async () => {
    const [{ accepted }] = await run([routes(300), puts]);
    expect(accepted.length / SECONDS).toBeGreaterThan(120);
  });
});

describe('a place', () => {
  const admitted = (admission: Admission) => {
    const tickets = Array.from({ length: 100 }, () => admission.enter('route'));
    return tickets.filter((ticket) => ticket !== null);
  };
  const isTurn = (turn: Promise<boolean>) => Promise.race([turn, Promise.resolve().then(() => 'waits')]);

  it('is given in order, and to nobody who gave up', async () => {
    const admission = new Admission({ now: () => 0 });
    const tickets = admitted(admission);
    const turns = await Promise.all(tickets.map(({ turn }) => isTurn(turn)));
    const first = turns.indexOf('waits');
    expect(first).toBeGreaterThan(0);
    expect(tickets.length).toBeGreaterThan(first + 2);
    tickets[first].giveUp();
    tickets[0].leave();
    expect(await tickets[first].turn).toBe(false);
    expect(await tickets[first + 1].turn).toBe(true);
    expect(await isTurn(tickets[first + 2].turn)).toBe('waits');
  });

  it('is free while the body is late, and taken when it is there', async () => {
    const admission = new Admission({ now: () => 0, maxWaitMs: 0 });
    const tickets = admitted(admission);
    const turns = await Promise.all(tickets.map(({ turn }) => isTurn(turn)));
    const running = tickets.filter((_, at) => turns[at] === true);
    expect(admission.enter('route')).toBeNull();
    for (const ticket of running) ticket.pause();
    expect(admitted(admission)).toHaveLength(running.length);
    for (const ticket of running) ticket.resume();
    expect(admission.enter('route')).toBeNull();
  });

  it('of one class is none of another', () => {
    const admission = new Admission({ now: () => 0, maxWaitMs: 0 });
    admitted(admission);
    expect(admission.enter('route')).toBeNull();
    for (const kind of ['reward', 'read', 'change'] as const) expect(admission.enter(kind)).not.toBeNull();
  });

  it('is not waited for behind somebody who waits for ever', () => {
    let clock = 0;
    const admission = new Admission({ now: () => clock });
    admitted(admission);
    clock = 1000;
    expect(admission.enter('route')).toBeNull();
  });
});
