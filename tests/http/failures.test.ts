import { Hono } from 'hono';
import { afterEach, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { AnswerHeaders } from '../../src/http/answer-headers.ts';
import { answerFailures } from '../../src/http/failures.ts';

afterEach(() => void vi.useRealTimers());

it('says once a minute that a store is away, and how many requests it cost; other faults are said each time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: object[] = [];
  const app = new Hono();
  const headers = new AnswerHeaders({ of: () => null, reached: async () => {} }, { draining: false });
  answerFailures(app, headers, { error: (fields) => lines.push(fields) });
  app.get('/away', () => {
    throw new StoreUnavailableError('Redis is away');
  });
  app.get('/fault', () => {
    throw new TypeError('a fault');
  });
  for (let i = 0; i < 4; i++) expect((await app.request('/away')).status).toBe(503);
  await app.request('/fault');
  await app.request('/fault');
  expect(lines.map((fields) => 'refusedSinceLastLine' in fields)).toEqual([false, false, false]);
  vi.advanceTimersByTime(60_000);
  await app.request('/away');
  await app.request('/away');
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatchObject({ path: '/away', refusedSinceLastLine: 3 });
});
