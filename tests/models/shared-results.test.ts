import { describe, expect, it } from 'vitest';
import { SharedResults } from '../../src/models/cache/shared-results.ts';

function counting(limit: number) {
  const asked: string[] = [];
  const results = new SharedResults<Float32Array>(limit);
  const embed = async (text: string): Promise<Float32Array> => {
    asked.push(text);
    if (text === 'bad') throw new Error('no vector');
    return Float32Array.of(text.length);
  };
  return { cache: { get: (text: string) => results.get(text, () => embed(text)) }, asked };
}

it('embeds a query once, also while it is being embedded', async () => {
  const { cache, asked } = counting(10);
  const [one, two] = await Promise.all([cache.get('mail'), cache.get('mail')]);
  expect(one).toBe(two);
  expect(await cache.get('mail')).toBe(one);
  expect(asked).toEqual(['mail']);
});

it('forgets what was used longest ago', async () => {
  const { cache, asked } = counting(2);
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b', '__proto__', '__proto__']) await cache.get(text);
  expect(asked).toEqual(['a', 'b', 'c', 'b', '__proto__']);
});

it('does not keep failures', async () => {
  const { cache, asked } = counting(2);
  await expect(cache.get('bad')).rejects.toThrow('no vector');
  await expect(cache.get('bad')).rejects.toThrow('no vector');
  expect(asked).toEqual(['bad', 'bad']);
});

describe('when callers give up', () => {
  /** A cache whose embedder answers when the test says so. */
  function held() {
    const stops: AbortSignal[] = [];
    let answer = (): void => {};
    const results = new SharedResults<Float32Array>(10);
    const embed = (stop: AbortSignal): Promise<Float32Array> => {
      stops.push(stop);
      return new Promise((resolve, reject) => {
        answer = () => resolve(Float32Array.of(1));
        stop.addEventListener('abort', () => reject(stop.reason));
      });
    };
    const get = (text: string, signal?: AbortSignal) => results.get(text, embed, signal);
    return { cache: { get }, stops, answer: () => answer() };
  }

  it('a query is embedded for the others that wait for it', async () => {
    const { cache, stops, answer } = held();
    const one = new AbortController();
    const given = [
      cache.get('mail', one.signal),
      cache.get('mail', new AbortController().signal),
      cache.get('mail'),
    ];
    one.abort();
    expect(stops.map(({ aborted }) => aborted)).toEqual([false]);
    answer();
    expect(await Promise.all(given)).toEqual(new Array(3).fill(Float32Array.of(1)));
  });

  it('one that all callers have given up is stopped, and embedded again for the next caller', async () => {
    const { cache, stops, answer } = held();
    const clients = [new AbortController(), new AbortController()];
    const given = clients.map(({ signal }) => cache.get('mail', signal));
    for (const client of clients) client.abort(new Error('gone'));
    const next = cache.get('mail');
    for (const one of await Promise.allSettled(given))
      expect(one).toMatchObject({ reason: { message: 'gone' } });
    expect(stops.map(({ aborted }) => aborted)).toEqual([true, false]);
    answer();
    expect(await next).toEqual(Float32Array.of(1));
  });
});

it('keeps what has room by weight, and nothing that is heavier than all of it', async () => {
  const results = new SharedResults<number>(10, (value) => value);
  const computed: number[] = [];
  const get = (weight: number) =>
    results.get(String(weight), async () => {
      computed.push(weight);
      return weight;
    });
  for (const weight of [4, 6, 4, 11, 5, 4, 6, Infinity, Infinity]) expect(await get(weight)).toBe(weight);
  expect(computed).toEqual([4, 6, 11, 5, 6, Infinity, Infinity]);
  expect(results.weight).toBe(10);
  expect([results.has('6'), results.has('5')]).toEqual([true, false]);
});
