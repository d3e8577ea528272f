import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogKey } from '../../src/redis/keys.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { type RunningService, until } from './running-service.ts';

const TOOLS = [
  ['place_order', 'Order food or drinks from a restaurant for delivery'],
  ['call_contact', 'Call somebody on the phone'],
  ['play_music', 'Play a song or a playlist'],
  ['get_weather', 'Tell the weather of a place'],
].map(([name, description]) => ({ name, description, inputSchema: { type: 'object', properties: {} } }));

const ITEMS = [
  { id: 'pizza', text: 'Luigi: pizza Margherita and a cola, 14.50', store: 'orders' },
  { id: 'sushi', text: 'Sushi Go: salmon set', store: 'orders' },
  { id: 'anna', text: 'Anna Keller, sister, +49 170 1234567', store: 'phone' },
  { id: 'run', text: 'Playlist: Morning Run', store: 'music' },
];
const SETTINGS = {
  BANDOLIER_MODEL: 'bundled',
  BANDOLIER_TOKEN_KEY: 'a secret of sixteen characters or more',
};

interface Answer {
  readonly decisionId: string;
  readonly context?: readonly { readonly id: string; readonly reasons: readonly string[] }[];
  readonly notes?: readonly string[];
}
interface Exported {
  readonly items: readonly object[];
  readonly usage: readonly { readonly item: string; readonly uses: number; readonly tools: object }[];
}

describe.skipIf(redisProgram.path === null)(
  `what users have, through two routers and a worker${redisProgram.missing ?? ''}`,
  () => {
    const running = twoRouters({ workers: 1, settings: () => SETTINGS });
    let admin: RedisConnections;
    beforeAll(async () => {
      admin = await RedisConnections.open(running.redis.url);
      await running.first.ask('PUT', '/v1/catalogs/home', {});
      await running.first.ask('PUT', '/v1/catalogs/home/tools', { tools: TOOLS });
      await until(async () => {
        const { status } = await running.second.request('GET', '/v1/catalogs/home/tools/play_music');
        return status === 200;
      });
    });
    afterAll(() => admin?.close());

    const usersPath = (user: string): string => `/v1/catalogs/home/users/${user}`;
    const put = (router: RunningService, user: string, items: readonly object[] = ITEMS) =>
      router.ask('PUT', `${usersPath(user)}/context`, { items });
    const route = (router: RunningService, userId: string, query = 'call my sister') =>
      router.ask<Answer>('POST', '/v1/route', { catalog: 'home', query, userId, k: 2, explore: false });
    /** A busy machine may need more than the 100 ms that a route waits. */
    const routeWith = async (router: RunningService, user: string, query?: string): Promise<Answer> => {
      let answer = await route(router, user, query);
      await until(async () => {
        if (answer.context !== undefined) return true;
        answer = await route(router, user, query);
        return answer.context !== undefined;
      });
      return answer;
    };
    const exported = (router: RunningService, user: string) =>
      router.ask<Exported>('GET', `${usersPath(user)}/export`);

    it('is put through one and served by the other, which sees how it was used through the first', async () => {
      const { first, second } = running;
      await put(first, 'mia');
      expect((await routeWith(second, 'mia')).context?.[0].id).toBe('anna');
      for (let time = 0; time < 3; time++) {
        const { decisionId } = await routeWith(second, 'mia', 'order the usual');
        const report = { decisionId, tool: 'place_order', outcome: 'success', context: ['sushi'] };
        await first.ask('POST', '/v1/rewards', { rewards: [report] });
      }
      const { context } = await routeWith(second, 'mia', 'order the usual');
      expect(context?.[0]).toMatchObject({
        id: 'sushi',
        reasons: expect.arrayContaining(['used with `place_order`']),
      });
      for (const router of [first, second]) {
        const { usage } = await exported(router, 'mia');
        const [uses, tools] = [expect.closeTo(3, 3), { place_order: expect.closeTo(3, 3) }];
        expect(usage).toMatchObject([{ item: 'sushi', uses, tools }]);
      }
    });

    it('counts a report once that comes through both at once, and when a worker applies it', async () => {
      const { first, second } = running;
      await put(second, 'tom');
      const { decisionId } = await routeWith(first, 'tom');
      const report = { decisionId, tool: 'call_contact', outcome: 'success', context: ['anna'] };
      const rewards = [{ ...report, idempotencyKey: 'once' }];
      await Promise.all(
        [first, second, first].map((router) => router.ask('POST', '/v1/rewards', { rewards })),
      );
      for (const router of [first, second]) {
        await until(async () => {
          const decision = await router.ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
          return decision.rewards.length > 0;
        });
        await router.settled('home');
        const { usage } = await exported(router, 'tom');
        expect(usage).toMatchObject([{ item: 'anna', uses: expect.closeTo(1, 3) }]);
      }
    });

    it('is found by a router that has just found nothing, soon after another one has put it', async () => {
      const { first, second } = running;
      for (let n = 0; n < 3; n++) expect(await route(second, 'ida')).not.toHaveProperty('context');
      await put(first, 'ida');
      expect((await routeWith(first, 'ida')).context?.[0].id).toBe('anna');
      expect((await routeWith(second, 'ida')).context?.[0].id).toBe('anna');
    });

    it('is served by no router once one has answered that it is erased, whoever had it open', async () => {
      const { first, second } = running;
      await put(first, 'ben');
      await routeWith(second, 'ben');
      let isErased = false;
      const routing = (async () => {
        while (!isErased) await route(second, 'ben');
      })();
      await first.ask('DELETE', usersPath('ben'));
      const after = await Promise.all(Array.from({ length: 20 }, () => route(second, 'ben')));
      isErased = true;
      await routing;
      for (const answer of after) expect(answer).not.toHaveProperty('context');
      expect(await exported(second, 'ben')).toMatchObject({ items: [], usage: [] });
      // Who comes back starts empty, on both.
      await put(second, 'ben', ITEMS.slice(2, 3));
      expect((await routeWith(first, 'ben')).context?.map(({ id }) => id)).toEqual(['anna']);
      expect((await exported(first, 'ben')).usage).toEqual([]);
    });

    it('is chosen without while Redis is away, which the answer says, and there again afterwards', async () => {
      const { first, redis } = running;
      await put(first, 'kim');
      await routeWith(first, 'kim');
      await redis.stop('SIGKILL');
      const { context, notes } = await route(first, 'kim');
      expect(context).toBeUndefined();
      expect(notes?.join()).toMatch(/What the user has (cannot|could not) be read/);
      const refused = await first.request('PUT', `${usersPath('kim')}/context`, { items: ITEMS });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect((await first.request('DELETE', usersPath('kim'))).status).toBe(503);
      await redis.start();
      expect((await routeWith(first, 'kim')).context?.[0].id).toBe('anna');
    });

    it('is there whole or gone whole when a router is killed while it erases users', async () => {
      const { first, second, deployment } = running;
      const users = Array.from({ length: 60 }, (_, n) => `many-${n}`);
      await Promise.all(users.map((user) => put(first, user)));
      await until(async () => (await second.request('GET', '/readyz')).status === 200);
      const [keys, erasing] = [catalogKey('home', 'context-keys'), catalogKey('home', 'context-erasing')];
      const dying = await deployment.startRouter([], SETTINGS);
      const requests = users.map((user) => dying.request('DELETE', usersPath(user)).catch(() => {}));
      await until(async () => (await admin.commands.hlen(erasing)) > 0);
      await dying.kill();
      await Promise.all(requests);
      const begun = await admin.commands.hkeys(erasing);
      // Another router completes them: at once when it starts, else within half a minute.
      await deployment.startRouter([], SETTINGS);
      await until(async () => (await admin.commands.hlen(erasing)) === 0);
      const kept = await admin.commands.hkeys(keys);
      expect(kept.filter((user) => begun.includes(user))).toEqual([]);
      const records = await admin.commands.keys(catalogKey('home', 'context:*').replaceAll(/[{}]/g, '?'));
      expect(records.map((key) => key.slice(-32)).sort()).toEqual([...kept].sort());
      for (const user of users) {
        const { items, usage } = await exported(second, user);
        expect([[], ITEMS.map(({ id }) => id).sort()]).toContainEqual(
          (items as { id: string }[]).map(({ id }) => id).sort(),
        );
        expect(usage).toEqual([]);
      }
    });
  },
);
