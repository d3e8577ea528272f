import { expect, it } from 'vitest';
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
