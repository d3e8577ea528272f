import { afterEach, describe, expect, it } from 'vitest';
import { RedisDecisionLog } from '../../src/decisions/redis-decision-log.ts';
import { RedisDecisionLogs } from '../../src/decisions/redis-decision-logs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { catalogKey } from '../../src/redis/keys.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { sampleDecision } from './arbitrary-decision.ts';

const APPEND_ONLY = ['--appendonly', 'yes'];
const KEY = catalogKey('shop', 'decision:shop.a');

describe.skipIf(redisProgram.path === null)(
  `decisions that wait for Redis${redisProgram.missing ?? ''}`,
  () => {
    const disposals: (() => unknown)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    async function start(): Promise<RedisServer> {
      const redis = await startRedis(APPEND_ONLY);
      disposals.push(() => redis.dispose());
      return redis;
    }

    /** One router's decisions. */
    async function router({ url }: RedisServer) {
      const connections = await RedisConnections.open(url);
      disposals.push(() => connections.close());
      const logs = new RedisDecisionLogs(connections, { retainMs: 600_000, now: () => Date.now() });
      disposals.push(() => logs.close());
      const { commands } = connections;
      return { connections, commands, logs, log: await logs.open('shop') };
    }

    const made = (request: string, id = 'shop.a') => ({ ...sampleDecision(id, Date.now(), 2), request });

    it('keep their activation when the connection is lost and back twice', async () => {
      const redis = await start();
      const { commands, log } = await router(redis);
      await log.append(made('one'));
      await commands.unlink(KEY);
      commands.emit('ready');
      const activated = log.activate('shop.a', 5);
      commands.emit('ready');
      expect(await activated).toBe('first');
      await expect.poll(() => commands.hget(KEY, 'a'), { timeout: 5_000 }).toBe('5');
      expect((await log.get('shop.a'))?.activatedAt).toBe(5);
    });

    it('are written again with what came after they were written', async () => {
      const redis = await start();
      const { commands, log } = await router(redis);
      const discovery = { at: 6, tools: ['server.some_tool_9'], propensity: [0.5], hashes: ['h9'] };
      await log.append(made('one'));
      expect(await log.activate('shop.a', 5)).toBe('first');
      expect(await log.discover('shop.a', discovery, 0)).toBe('added');
      await commands.unlink(KEY);
      commands.emit('ready');
      await expect.poll(() => commands.exists(KEY)).toBe(1);
      expect(await log.get('shop.a')).toMatchObject({ activatedAt: 5, discoveries: [discovery] });
    });

    it('are not written again by a router that came second', async () => {
      const redis = await start();
      const [first, second] = [await router(redis), await router(redis)];
      expect(await first.log.append(made('one'))).toBe(true);
      expect(await second.log.append(made('other'))).toBe(false);
      await second.log.append(made('its own', 'shop.b'));
      await second.commands.unlink(KEY, catalogKey('shop', 'decision:shop.b'));
      second.commands.emit('ready');
      await expect.poll(() => second.commands.exists(catalogKey('shop', 'decision:shop.b'))).toBe(1);
      expect(await second.commands.exists(KEY)).toBe(0);
      first.commands.emit('ready');
      await expect.poll(() => second.commands.exists(KEY)).toBe(1);
      expect((await second.log.get('shop.a'))?.request).toBe('one');
    });

    it('the first of one id stands, for this router and when Redis is back', async () => {
      const redis = await start();
      const { log } = await router(redis);
      await redis.stop();
      expect(await Promise.all([log.append(made('one')), log.append(made('two'))])).toEqual([true, false]);
      expect(await log.append(made('three'))).toBe(false);
      expect((await log.get('shop.a'))?.request).toBe('one');
      await redis.start();
      const other = await router(redis);
      await expect.poll(async () => other.commands.exists(KEY), { timeout: 10_000 }).toBe(1);
      expect((await other.log.get('shop.a'))?.request).toBe('one');
    });

    it('one that another router has written meanwhile stands', async () => {
      const redis = await start();
      const [first, second] = [await router(redis), await router(redis)];
      await redis.stop();
      await first.log.append(made('one'));
      await second.log.append(made('two'));
      await redis.start();
      const one = async () => [
        (await first.log.get('shop.a'))?.request,
        (await second.log.get('shop.a'))?.request,
      ];
      await expect
        .poll(
          () =>
            one().then(
              ([a, b]) => a !== undefined && a === b,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true);
    });

    it('an activation that was refused is not written by itself later', async () => {
      const redis = await start();
      const { commands, log } = await router(redis);
      await log.append(made('one'));
      await redis.stop();
      await expect(log.activate('shop.a', 5)).rejects.toThrow(StoreUnavailableError);
      await redis.start();
      await expect.poll(() => commands.status, { timeout: 10_000 }).toBe('ready');
      await expect.poll(() => log.head('shop.a').catch(() => null), { timeout: 10_000 }).not.toBeNull();
      expect(await log.activate('shop.a', 7)).toBe('first');
      expect((await log.get('shop.a'))?.activatedAt).toBe(7);
    });

    it('those of a deleted catalog are not written into one that is created again under its name', async () => {
      const redis = await start();
      const { commands, logs, log } = await router(redis);
      await log.append(made('one'));
      await redis.stop();
      await log.append(made('waits', 'shop.b'));
      await logs.release('shop');
      await redis.start();
      const anew = await logs.open('shop');
      await expect.poll(() => commands.status, { timeout: 10_000 }).toBe('ready');
      await anew.append(made('anew', 'shop.c'));
      await commands.unlink(KEY);
      commands.emit('ready');
      expect(await anew.head('shop.c')).not.toBeNull();
      await logs.close();
      expect(await commands.exists(KEY, catalogKey('shop', 'decision:shop.b'))).toBe(0);
      await expect(log.append(made('late', 'shop.d'))).rejects.toThrow(StoreUnavailableError);
    });

    it('decisions that were written a while ago are forgotten, as long as Redis answers', async () => {
      const redis = await start();
      const { connections, commands } = await router(redis);
      const clock = { time: Date.now() };
      const log = new RedisDecisionLog(connections, 'shop', { retainMs: 600_000, now: () => clock.time });
      await log.append(made('one'));
      await redis.stop();
      clock.time += 60_000;
      await expect(log.forgetOld()).rejects.toThrow();
      await redis.start();
      await expect.poll(() => commands.status, { timeout: 10_000 }).toBe('ready');
      await commands.unlink(KEY);
      log.writeAgain();
      await expect.poll(() => commands.exists(KEY), { timeout: 10_000 }).toBe(1);
      clock.time += 60_000;
      await log.forgetOld();
      await commands.unlink(KEY);
      log.writeAgain();
      await log.close();
      expect(await commands.exists(KEY)).toBe(0);
    });
  },
);
