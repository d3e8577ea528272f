import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { contentOf } from '../context/content-of.ts';
import { contentOfRedis } from '../redis/content-of-redis.ts';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder } from './running-service.ts';

const TEXT = 'Two portions of lentils';
const ITEM = {
  ...{ id: 'usual-order', text: TEXT, store: 'food-orders', kind: 'evening-meal', place: 'balcony' },
  ...{ categories: ['vegetarian'], tags: ['spicy'], numbers: { portions: 2 } },
};
/** Everything of the item and of its user that can be read. */
const READABLE =
  /lentils|usual-order|food-orders|evening-meal|balcony|vegetarian|spicy|portions|ada-lovelace/i;
const LOGS_ALL = { BANDOLIER_MODEL: 'none', BANDOLIER_LOG_LEVEL: 'debug' };
const users = (catalog: string, user: string): string => `/v1/catalogs/${catalog}/users/${user}`;
const ADA = users('default', 'ada-lovelace');

/** Puts, reads, sends what is wrong, and routes; nothing of it may be told again but in answers to who asks for it. */
async function useContext(service: RunningService): Promise<void> {
  await service.ask('PUT', '/v1/catalogs/other', {});
  await service.ask('PUT', `${ADA}/context`, { items: [ITEM, { id: 'b', text: `${TEXT}, again` }] });
  expect((await service.ask('GET', `${ADA}/context`)).items).toMatchObject([
    { id: 'b' },
    { ...ITEM, putAt: expect.stringMatching(/^20\d\d-.*Z$/) },
  ]);
  for (const other of [
    users('default', 'Ada-Lovelace'),
    users('default', 'bob'),
    users('other', 'ada-lovelace'),
  ]) {
    expect([other, (await service.ask('GET', `${other}/context`)).items]).toEqual([other, []]);
    expect(await service.ask('GET', `${other}/export`)).toMatchObject({ items: [], usage: [] });
    expect(await service.ask('DELETE', `${other}/context/usual-order`)).toEqual({ removed: 0 });
    expect(await service.ask('DELETE', other)).toMatchObject({ forgotten: 0 });
  }
  for (const wrong of [
    { text: `${TEXT} `.repeat(400) },
    { text: `${TEXT}\u0007` },
    { text: TEXT, at: `lentils` },
    { text: TEXT, vegetarian: true, tags: [7] },
    { text: TEXT, expiresAt: '2001-01-01T00:00:00Z' },
  ]) {
    const { status, body } = await service.request('PUT', `${ADA}/context`, {
      items: [{ id: 'c', ...wrong }],
    });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).not.toMatch(/lentils|portions/);
  }
  const broken = `{"items":[{"id":"c","text":"${TEXT}"`;
  const { body } = await service.request('PUT', `${ADA}/context`, broken);
  expect(JSON.stringify(body)).not.toMatch(/lentils|portions/);
  await service.ask('POST', '/v1/route', { query: 'order my dinner', userId: 'ada-lovelace' });
  const { items } = await service.ask<{ items: unknown[] }>('GET', `${ADA}/export`);
  expect(items).toHaveLength(2);
}

/** The user is named where the operator is to see who asked for what, and nowhere else. */
async function expectUntold(service: RunningService): Promise<void> {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).not.toMatch(READABLE);
  const texts = service.output.replaceAll(ADA, '');
  expect(texts).not.toMatch(/lentils|food-orders|evening-meal|balcony|vegetarian|spicy|portions/i);
}

describe('what users have', () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  it('is read by its user in its catalog alone, and in no byte of the data folder, log line, metric or error', async () => {
    const data = join(folder.path, 'data');
    const service = await RunningService.start(data, [], LOGS_ALL);
    await useContext(service);
    await expectUntold(service);
    expect(contentOf(data).toString('latin1')).not.toMatch(READABLE);
    await service.ask('DELETE', ADA);
    expect((await service.ask('GET', `${ADA}/context`)).items).toEqual([]);
    await expectUntold(service);
    expect(await service.stop()).toBe(0);
    expect(contentOf(data).toString('latin1')).not.toMatch(READABLE);
  });
});

describe.skipIf(redisProgram.path === null)(
  `what users have, over Redis${redisProgram.missing ?? ''}`,
  () => {
    let redis: RedisServer;
    let connections: RedisConnections;
    beforeAll(async () => {
      redis = await startRedis();
      connections = await RedisConnections.open(redis.url);
    });
    afterAll(async () => {
      await connections.close();
      await redis.dispose();
    });
    const content = async () => (await contentOfRedis(connections.commands)).toString('latin1');

    it('is in no value of Redis, log line, metric or error, and seen by every router', async () => {
      const deployment = new Deployment(redis.url);
      const settings = { ...LOGS_ALL, BANDOLIER_TOKEN_KEY: 'a secret of sixteen characters or more' };
      try {
        const router = await deployment.startRouter([], settings);
        await useContext(router);
        const other = await deployment.startRouter([], settings);
        expect((await other.ask<{ items: unknown[] }>('GET', `${ADA}/context`)).items).toHaveLength(2);
        const kept = await content();
        expect(kept).toMatch(/context/);
        expect(kept).not.toMatch(READABLE);
        await other.ask('DELETE', ADA);
        expect((await router.ask('GET', `${ADA}/context`)).items).toEqual([]);
        expect(await content()).not.toMatch(READABLE);
        for (const service of [router, other]) await expectUntold(service);
      } finally {
        await deployment.dispose();
      }
    });

    it('needs a secret, and says which', async () => {
      const deployment = new Deployment(redis.url);
      try {
        const router = await deployment.startRouter();
        const { status, body } = await router.request('PUT', `${ADA}/context`, { items: [ITEM] });
        expect([status, body]).toEqual([503, expect.objectContaining({ code: 'unavailable' })]);
        expect(body.suggestedFix).toMatch(/BANDOLIER_TOKEN_KEY/);
        expect(JSON.stringify(body)).not.toMatch(READABLE);
      } finally {
        await deployment.dispose();
      }
    });
  },
);
