import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { CAREFUL_AGENT, conductOf } from '../../src/simulation/agent.ts';

const SHOWN = ['a', 'b', 'c', 'd', 'e'];

function conducts(fitting: readonly string[], behaviour: Partial<typeof CAREFUL_AGENT>, count = 4000) {
  return Array.from({ length: count }, (_, i) =>
    conductOf(SHOWN, new Set(fitting), { ...CAREFUL_AGENT, ...behaviour }, randomFor(`agent test ${i}`)),
  );
}

const share = <T>(all: readonly T[], test: (one: T) => boolean): number =>
  all.filter(test).length / all.length;

describe('the simulated agent', () => {
  it('calls tools that fit with its probability, each on its own', () => {
    const all = conducts(['b', 'd'], {});
    const calls = (tool: string) =>
      share(all, (one) => one.calls.some((call) => call.tool === tool && call.success));
    expect(calls('b')).toBeCloseTo(0.93, 1);
    expect(calls('d')).toBeCloseTo(0.93, 1);
    expect(share(all, (one) => one.calls.length === 2)).toBeCloseTo(0.93 ** 2, 1);
  });

  it('calls one wrong tool, any of them, when it called none that fits', () => {
    const all = conducts(['z'], {});
    expect(all.every(({ calls }) => calls.length === 1 && !calls[0].success)).toBe(true);
    for (const tool of SHOWN) expect(share(all, ({ calls }) => calls[0].tool === tool)).toBeCloseTo(0.2, 1);
  });

  it('is mistaken with the probability of noise, and takes the first wrong tool then', () => {
    const all = conducts(['a'], { noise: 0.2 });
    expect(share(all, ({ calls }) => calls[0].tool === 'b' && calls.length === 1)).toBeGreaterThan(0.18);
    expect(share(all, ({ calls }) => calls[0].tool === 'a')).toBeCloseTo(0.8 * 0.93, 1);
  });

  it('loses and delays the outcomes of whole decisions', () => {
    const all = conducts(['a'], { loss: 0.5, delay: 500 });
    expect(share(all, ({ delay }) => delay === null)).toBeCloseTo(0.5, 1);
    const delays = all.map(({ delay }) => delay).filter((delay) => delay !== null);
    expect(delays.reduce((sum, delay) => sum + delay, 0) / delays.length).toBeGreaterThan(460);
    expect(delays.reduce((sum, delay) => sum + delay, 0) / delays.length).toBeLessThan(540);
    expect(conducts(['a'], {}, 50).every(({ delay }) => delay === 0)).toBe(true);
  });

  it('only ever calls what it was shown, succeeds exactly where a tool fits, and repeats itself', () => {
    fc.assert(
      fc.property(
        fc.subarray(SHOWN),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.string(),
        (fitting, noise, key) => {
          const behaviour = { ...CAREFUL_AGENT, noise };
          const { calls } = conductOf(SHOWN, new Set(fitting), behaviour, randomFor(key));
          for (const { tool, success } of calls) {
            expect(SHOWN).toContain(tool);
            expect(success).toBe(fitting.includes(tool));
          }
          expect(conductOf(SHOWN, new Set(fitting), behaviour, randomFor(key)).calls).toEqual(calls);
        },
      ),
    );
  });

  it('does nothing with an empty slate', () => {
    expect(conductOf([], new Set(['a']), CAREFUL_AGENT, randomFor('-')).calls).toEqual([]);
  });
});
