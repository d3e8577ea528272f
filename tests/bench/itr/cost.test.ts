import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cachedCost, type StepTokens, uncachedCost } from '../../../bench/itr/cost.ts';

const steps = (count: number, step: (at: number) => Partial<StepTokens>): StepTokens[] =>
  Array.from({ length: count }, (_, at) => ({ prefix: 0, changing: 0, appended: 0, ...step(at) }));

/** Each request as a list of tokens; what begins as the last one did is read from the cache, up to what changes. */
function naiveCost(episode: readonly StepTokens[], history: number): number {
  let cached: string[] = [];
  let conversation: string[] = [];
  let cost = 0;
  for (const [at, { prefix, changing, appended }] of episode.entries()) {
    const tokens = (name: string, count: number) =>
      Array.from({ length: count }, (_, token) => `${name}${token}`);
    conversation = [...conversation, ...tokens(`appended${at}/`, appended)];
    const request = [...tokens('prefix', prefix), ...tokens(`changing${at}/`, changing), ...conversation];
    const kept = changing === 0 ? request : request.slice(0, prefix);
    const same = kept.findIndex((token, place) => token !== cached[place]);
    const read = same < 0 ? kept.length : same;
    cost += 0.1 * read + 1.25 * (kept.length - read) + (request.length - kept.length);
    cached = kept;
    conversation = [...conversation, ...tokens(`history${at}/`, history)];
  }
  return cost;
}

describe('with the token counts of the paper', () => {
  const whole = steps(10, () => ({ prefix: 30_000 }));
  const small = steps(10, () => ({ changing: 1500 }));

  it('ten steps of everything come to 390k tokens, and of little to 105k', () => {
    expect(uncachedCost(whole)).toBe(390_000);
    expect(uncachedCost(small)).toBe(105_000);
  });

  it('a prompt that is made anew costs more than a cached monolith when an episode is long', () => {
    const cost = (count: number) => ({
      anew: cachedCost(steps(count, () => ({ changing: 1500 }))),
      whole: cachedCost(steps(count, () => ({ prefix: 30_000 }))),
    });
    expect(cost(5).anew).toBeLessThan(cost(5).whole);
    expect(cost(20).anew).toBeGreaterThan(2 * cost(20).whole);
  });
});

it('is what a cache of the same requests charges', () => {
  const size = fc.integer({ min: 0, max: 20 });
  const kind = fc.constantFrom('prefix', 'changing', 'both', 'appended');
  fc.assert(
    fc.property(
      kind,
      size,
      fc.array(fc.tuple(size, size), { maxLength: 8 }),
      size,
      (way, prefix, sizes, history) => {
        const episode = sizes.map(([changing, appended]) => ({
          prefix: way === 'prefix' || way === 'both' ? prefix : 0,
          changing: way === 'changing' || way === 'both' ? changing + 1 : 0,
          appended: way === 'appended' ? appended : 0,
        }));
        expect(cachedCost(episode, history)).toBeCloseTo(naiveCost(episode, history), 6);
      },
    ),
  );
});
