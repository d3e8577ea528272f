import { describe, expect, it } from 'vitest';
import { QueryCache } from '../../src/models/cache/query-cache.ts';

function counting(limit: number) {
  const asked: string[] = [];
  const cache = new QueryCache(limit, async (text) => {
    asked.push(text);
    if (text === 'bad') throw new Error('no vector');
    return Float32Array.of(text.length);
  });
  return { cache, asked };
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
    const cache = new QueryCache(10, (_, stop) => {
      stops.push(stop);
      return new Promise((resolve, reject) => {
        answer = () => resolve(Float32Array.of(1));
        stop.addEventListener('abort', () => reject(stop.reason));
      });
    });
    return { cache, stops, answer: () => answer() };
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
