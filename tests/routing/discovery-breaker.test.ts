import { describe, expect, it } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { DiscoveryBreaker } from '../../src/routing/discovery-breaker.ts';

interface Agents {
  readonly agents: number;
  /** Decisions of each in a minute. */
  readonly pace: number;
  /** Discoveries for each decision; above 1: so many for every one. */
  readonly share: number;
  /** The answers said that the slates do not suffice. */
  readonly isAdvised?: boolean;
  /** Nothing is known about who asks. */
  readonly isUnknown?: boolean;
}

const MINUTES = 10;

/** Plays ten minutes of agents that go on at their pace; returns the share of the discoveries of each group that was refused. */
function refused(...groups: readonly Agents[]): number[] {
  const breaker = new DiscoveryBreaker();
  const steps = groups.flatMap(({ agents, pace }, group) =>
    Array.from({ length: agents }, (_, agent) => {
      const random = randomFor(`storm/${group}/${agent}`);
      const count = pace * MINUTES;
      return Array.from({ length: count }, (__, step) => ({
        ...{ group, caller: groups[group].isUnknown ? undefined : `${group}/${agent}` },
        at: Math.floor(((step + random.uniform(2 * step)) / count) * MINUTES * 60_000),
        chance: random.uniform(2 * step + 1),
      }));
    }).flat(),
  );
  steps.sort((a, b) => a.at - b.at);
  const counts = groups.map(() => ({ asked: 0, refused: 0 }));
  for (const { group, caller, at, chance } of steps) {
    breaker.decided(at, caller);
    const { share, isAdvised = false } = groups[group];
    const times = share >= 1 ? share : Number(chance < share);
    for (let i = 0; i < times; i++) {
      counts[group].asked++;
      if (breaker.ask(at, caller, isAdvised && i === 0) !== null) counts[group].refused++;
    }
  }
  return counts.map(({ asked, refused: no }) => no / asked);
}

const usual = (agents: number, more: Partial<Agents> = {}): Agents => ({
  ...{ agents, pace: 6, share: 1 / 3 },
  ...more,
});
const LOOP: Agents = { agents: 1, pace: 6, share: 20 };

describe('what agents usually do is never refused', () => {
  it.each([1, 10, 50])('%i of them', (agents) => {
    expect(refused(usual(agents))).toEqual([0]);
    expect(refused(usual(agents, { isUnknown: true }))).toEqual([0]);
    expect(refused(usual(agents, { share: 0.6 }))).toEqual([0]);
    expect(refused(usual(agents, { pace: 60 }))).toEqual([0]);
    expect(refused(usual(agents, { share: 1, isAdvised: true }))).toEqual([0]);
  });

  it('nor one that asks at every step', () => {
    expect(refused(usual(1, { pace: 12, share: 1 }))).toEqual([0]);
    expect(refused(usual(30), usual(1, { pace: 12, share: 1 }))).toEqual([0, 0]);
  });
});

describe('a storm is refused', () => {
  it('where everybody asks at every step, until they ask less', () => {
    for (const agents of [20, 50]) {
      for (const isUnknown of [false, true]) {
        const [share] = refused(usual(agents, { share: 1, isUnknown }));
        expect(share).toBeGreaterThan(0.2);
        expect(share).toBeLessThan(0.9);
      }
    }
    expect(refused(usual(50, { share: 2, isAdvised: true }))[0]).toBeGreaterThan(0.2);
  });

  it.each([1, 10, 50])('where one caller asks in a loop; %i others are not', (agents) => {
    for (const pace of [6, 60, 600]) {
      const [others, loop] = refused(usual(agents), { ...LOOP, pace });
      expect(others).toBe(0);
      expect(loop).toBeGreaterThan(0.2);
    }
    expect(refused(usual(agents), { agents: 1, pace: 600, share: 1 })[0]).toBe(0);
    expect(refused(usual(10), { ...LOOP, agents: 3 })[0]).toBe(0);
  });
});

describe('the breaker', () => {
  it('opens above four discoveries for five decisions, closes by itself, and opens again in a storm', () => {
    const breaker = new DiscoveryBreaker();
    const ask = (now: number) => breaker.ask(now, undefined, false);
    const refusal = (waitMs: number) => ({ waitMs, isCaller: false });
    let now = 1_000_000;
    for (let i = 0; i < 100; i++) breaker.decided(now, undefined);
    for (let i = 0; i < 81; i++) expect(ask(now)).toBeNull();
    expect(ask(now)).toEqual(refusal(15_000));
    expect(ask(now + 14_000)).toEqual(refusal(1_000));
    now += 15_000;
    expect(breaker.state(now)).toMatchObject({ open: false, decisions: 100, discoveries: 0 });
    for (let i = 0; i < 81; i++) expect(ask(now)).toBeNull();
    expect(ask(now)).toEqual(refusal(15_000));
    expect(breaker.state(now)).toMatchObject({ open: true, closesAt: now + 15_000 });
  });

  it('is no matter of a few, nor of many among many', () => {
    const breaker = new DiscoveryBreaker();
    for (let i = 0; i < 60; i++) expect(breaker.ask(i, undefined, false)).toBeNull();
    const busy = new DiscoveryBreaker();
    for (let i = 0; i < 10_000; i++) busy.decided(59_000, undefined);
    for (let i = 0; i < 5000; i++) expect(busy.ask(59_000, undefined, false)).toBeNull();
  });

  it('refuses a caller by itself, and does not stay open when its clock steps back', () => {
    const breaker = new DiscoveryBreaker();
    for (let i = 0; i < 30; i++) expect(breaker.ask(9_000_000, 'a', false)).toBeNull();
    expect(breaker.ask(9_000_000, 'a', true)).toEqual({ waitMs: 15_000, isCaller: true });
    expect(breaker.ask(9_000_000, 'b', false)).toBeNull();
    expect(breaker.state(9_000_000)).toMatchObject({ open: false, callers: 1 });
    expect(breaker.ask(1_000_000, 'a', false)).toBeNull();
  });
});
