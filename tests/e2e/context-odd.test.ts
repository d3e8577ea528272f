import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deployment } from '../redis/deployment.ts';
import { redisProgram, startRedis } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder } from './running-service.ts';

const SECRET = { BANDOLIER_TOKEN_KEY: 'a secret of sixteen characters or more', BANDOLIER_MODEL: 'none' };
const MODES = [
  ['in a data folder', startEmbedded, null],
  ['over Redis', startOverRedis, redisProgram.missing],
] as const;

type Started = { readonly service: RunningService; stop(): Promise<void> };

async function startEmbedded(): Promise<Started> {
  const folder = temporaryFolder();
  const service = await RunningService.start(folder.path, [], SECRET);
  return {
    service,
    stop: async () => {
      await service.kill();
      folder.remove();
    },
  };
}

async function startOverRedis(): Promise<Started> {
  const redis = await startRedis();
  const deployment = new Deployment(redis.url);
  const service = await deployment.startRouter([], SECRET);
  return {
    service,
    stop: async () => {
      await deployment.dispose();
      await redis.dispose();
    },
  };
}

/** Ids that could be mistaken for something else by a file system, a URL, JSON or Redis. */
const ODD = [
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '..%2f..',
  '{default}:keys',
  'a b\u00a0c',
  'Zoë 🦊',
  'zoe\u0308',
  'zo\u00eb',
  '*',
  'NUL',
  'x'.repeat(256),
];

for (const [mode, start, missing] of MODES) {
  describe.skipIf(missing)(`what is odd about what users have, ${mode}${missing ?? ''}`, () => {
    let started: Started;
    beforeAll(async () => {
      started = await start();
      await started.service.ask('PUT', '/v1/catalogs/other', {});
    });
    afterAll(() => started?.stop());
    const path = (user: string, catalog = 'default'): string =>
      `/v1/catalogs/${catalog}/users/${encodeURIComponent(user)}`;
    const put = (user: string, items: readonly object[], catalog?: string) =>
      started.service.request('PUT', `${path(user, catalog)}/context`, { items });
    const list = async (user: string, catalog?: string) => {
      const { items } = await started.service.ask<{ items: { id: string; text: string; at?: string }[] }>(
        'GET',
        `${path(user, catalog)}/context?limit=1000`,
      );
      return items;
    };

    it('users and items keep apart whatever they are called, in each catalog', async () => {
      for (const id of ODD) {
        const items = [{ id, text: `of ${id}` }];
        expect([id, (await put(id, items)).status]).toEqual([id, 200]);
      }
      for (const id of ODD) {
        expect(await list(id)).toMatchObject([{ id, text: `of ${id}` }]);
        expect([id, await list(id, 'other')]).toEqual([id, []]);
        const { items } = await started.service.ask<{ items: unknown[] }>('GET', `${path(id)}/export`);
        expect(items).toHaveLength(1);
      }
      const [first, ...others] = ODD;
      await started.service.ask('DELETE', path(first));
      expect(await list(first)).toEqual([]);
      for (const id of others) expect([id, (await list(id)).length]).toEqual([id, 1]);
      const one = `${path(others[0])}/context/${encodeURIComponent(others[0])}`;
      expect(await started.service.ask('DELETE', one)).toEqual({ removed: 1 });
    });

    it.each([
      ['a text of 1 MB', () => [{ id: 'b', text: 'x'.repeat(1024 * 1024) }], 413],
      [
        'one long text among many',
        () => [
          { id: 'b', text: 'short' },
          { id: 'c', text: 'x'.repeat(8193) },
        ],
        422,
      ],
      ['100,000 items', () => Array.from({ length: 100_000 }, (_, n) => ({ id: `n${n}`, text: 't' })), 422],
      ['the same id twice', () => [0, 1].map((n) => ({ id: 'b', text: `${n}` })), 422],
      ['an id with a control character', () => [{ id: 'b\u0007', text: 'short' }], 422],
    ])('%s is refused whole, in words, and leaves what there was', async (_, items, status) => {
      await put('ada', [{ id: 'a', text: 'first' }]);
      const answer = await put('ada', items());
      expect(answer.status, JSON.stringify(answer.body)).toBe(status);
      expect((answer.body as { suggestedFix: string }).suggestedFix).toMatch(/\w+/);
      expect((await list('ada')).map(({ id }) => id)).toEqual(['a']);
    });

    it('what was put last counts, whatever the times of items say, also from requests at once', async () => {
      for (const at of ['2999-01-01T00:00:00Z', '1971-01-01T00:00:00Z', '2020-06-01T00:00:00Z']) {
        expect((await put('cleo', [{ id: 'a', text: `at ${at}`, at }])).status).toBe(200);
        expect(await list('cleo')).toMatchObject([{ text: `at ${at}` }]);
      }
      const texts = Array.from({ length: 12 }, (_, n) => `version ${n}`);
      const answers = await Promise.all(
        texts.map((text, n) =>
          put('cleo', [
            { id: 'a', text },
            { id: `own-${n}`, text },
          ]),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(texts.map(() => 200));
      const kept = await list('cleo');
      expect(kept).toHaveLength(13);
      expect(texts).toContain(kept.find(({ id }) => id === 'a')?.text);
    });

    it('a user who is erased comes back empty, while others and other catalogs keep theirs', async () => {
      for (const catalog of ['default', 'other']) await put('dan', [{ id: 'a', text: catalog }], catalog);
      for (let time = 0; time < 3; time++) {
        await started.service.ask('DELETE', path('dan'));
        expect(await list('dan')).toEqual([]);
        expect((await put('dan', [{ id: `back-${time}`, text: 'again' }])).status).toBe(200);
        expect((await list('dan')).map(({ id }) => id)).toEqual([`back-${time}`]);
      }
      expect((await list('dan', 'other')).map(({ text }) => text)).toEqual(['other']);
      // Erased while it is put, many times: it is there whole or not at all, and nothing fails but by being erased.
      const both = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          n % 2 === 0 ? put('dan', [{ id: 'x', text: 'x' }]) : started.service.request('DELETE', path('dan')),
        ),
      );
      for (const { status } of both) expect([200, 503]).toContain(status);
      await started.service.ask('DELETE', path('dan'));
      expect(await list('dan')).toEqual([]);
    });
  });
}

it('a service without the secret under which items are kept says so at its start, and in the notes of routes', async () => {
  const folder = temporaryFolder();
  const first = await RunningService.start(folder.path, [], SECRET);
  const items = [{ id: 'run', text: 'Playlist: Morning Run' }];
  await first.ask('PUT', '/v1/catalogs/default/users/ada/context', { items });
  await first.stop();
  const wrong = { ...SECRET, BANDOLIER_TOKEN_KEY: 'another secret of sixteen characters' };
  const second = await RunningService.start(folder.path, [], wrong);
  await second.stop();
  expect(second.output).toContain('encrypted with another BANDOLIER_TOKEN_KEY than the one that is set');
  const third = await RunningService.start(folder.path, [], { BANDOLIER_MODEL: 'none' });
  const { notes } = await third.ask<{ notes: string[] }>('POST', '/v1/route', {
    ...{ query: 'play my run', userId: 'ada' },
  });
  await third.stop();
  folder.remove();
  expect(third.output).toContain('Set BANDOLIER_TOKEN_KEY to 16 characters or more');
  expect(notes).toContainEqual(expect.stringContaining('under a secret of yours, and none is set'));
});
