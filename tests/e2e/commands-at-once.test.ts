import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder } from './running-service.ts';

const ROUNDS = 60;

interface CatalogSettingsView {
  readonly settings: Readonly<Record<string, unknown>> & {
    readonly rewards: Readonly<Record<string, unknown>>;
  };
}

/** Commands that two processes (or one) get in the same moment. Each is to be there afterwards. */
function survive(routers: () => readonly [RunningService, RunningService]): void {
  it('three clients that each change another setting', async () => {
    const [first, second] = routers();
    const lost: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const on = round % 2 === 0;
      const put = (router: RunningService, patch: object) => router.ask('PUT', '/v1/catalogs/busy', patch);
      await Promise.all([
        put(first, { killSwitch: on }),
        put(second, { rewards: { windowSeconds: 60 + round } }),
        put(first, { retainText: !on, rewards: { unitHourlyWeight: 100 + round } }),
      ]);
      const position = await first.request('PUT', '/v1/catalogs/busy', {});
      for (const router of [first, second]) {
        const headers = { 'x-bandolier-position': position.headers.get('x-bandolier-position')! };
        const { body } = await router.request<CatalogSettingsView>(
          'GET',
          '/v1/catalogs/busy',
          undefined,
          headers,
        );
        const { killSwitch, retainText, rewards } = body.settings;
        const found = [killSwitch, retainText, rewards.windowSeconds, rewards.unitHourlyWeight];
        if (`${found}` !== `${[on, !on, 60 + round, 100 + round]}`) lost.push(`round ${round}: ${found}`);
      }
    }
    expect(lost).toEqual([]);
  });

  it('two clients that each change another member of the policy', async () => {
    const [first, second] = routers();
    const lost: string[] = [];
    await first.ask('PUT', '/v1/catalogs/busy', { policy: { name: 'sc-linucb-memory' } });
    for (let round = 1; round <= ROUNDS; round++) {
      const temperature = round / 100;
      const put = (router: RunningService, policy: object) =>
        router.ask('PUT', '/v1/catalogs/busy', { policy });
      await Promise.all([
        put(first, { temperature }),
        put(second, { parameters: { alpha: round / 50 } }),
        put(first, { name: 'sc-linucb-memory', exploration: round % 2 ? 'ucb' : 'greedy' }),
      ]);
      const { settings } = await first.ask<CatalogSettingsView>('PUT', '/v1/catalogs/busy', {});
      const wanted = {
        temperature,
        parameters: { alpha: round / 50 },
        exploration: round % 2 ? 'ucb' : 'greedy',
      };
      const expected = JSON.stringify({ name: 'sc-linucb-memory', ...wanted });
      const {
        name,
        parameters,
        exploration,
        temperature: found,
      } = settings.policy as typeof wanted & {
        name: string;
      };
      const got = JSON.stringify({ name, temperature: found, parameters, exploration });
      if (got !== expected) lost.push(`round ${round}: ${got}`);
    }
    expect(lost).toEqual([]);
  });

  it('a policy that is activated while a setting is changed', async () => {
    const [first, second] = routers();
    const lost: string[] = [];
    await first.ask('PUT', '/v1/catalogs/busy', { policy: { name: 'sc-linucb-memory' } });
    const { policies } = await first.ask<{ policies: { version: string }[] }>(
      'GET',
      '/v1/catalogs/busy/policies',
    );
    await first.ask('PUT', '/v1/catalogs/busy', { policy: { name: 'cosine' } });
    for (let round = 0; round < ROUNDS; round++) {
      const [activated] = await Promise.all([
        first.request('POST', `/v1/catalogs/busy/policies/${policies[0].version}/activate`, {}),
        second.ask('PUT', '/v1/catalogs/busy', { killSwitch: round % 2 === 0 }),
      ]);
      expect(activated.status).toBe(200);
      const after = await first.ask<{ policy: { version: string } }>('PUT', '/v1/catalogs/busy', {});
      if (after.policy.version !== policies[0].version) lost.push(`round ${round}: ${after.policy.version}`);
      await first.ask('PUT', '/v1/catalogs/busy', { policy: { name: 'cosine' } });
    }
    expect(lost).toEqual([]);
  });

  it('two queries with one Idempotency-Key: one is answered, the other refused, and a repetition answered alike', async () => {
    const [first, second] = routers();
    const put = {
      put: [{ name: 'refund', description: 'Gives money back', inputSchema: { type: 'object' } }],
    };
    await first.ask('PATCH', '/v1/catalogs/busy/tools', put);
    for (let round = 0; round < ROUNDS; round++) {
      const ask = (router: RunningService, query: string) =>
        router.request(
          'POST',
          '/v1/route',
          { catalog: 'busy', query },
          { 'idempotency-key': `query-${round}` },
        );
      const answers = await Promise.all([ask(first, 'one'), ask(second, 'other'), ask(second, 'one')]);
      const taken = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status === 409);
      expect([taken.length + refused.length, taken.length > 0, refused.length > 0]).toEqual([3, true, true]);
      expect(refused[0].body.code).toBe('idempotency-conflict');
      for (const { body } of taken) expect(body).toEqual(taken[0].body);
      const query = answers[1].status === 200 ? 'other' : 'one';
      expect((await ask(first, query)).body.decisionId).toEqual(taken[0].body.decisionId);
      expect((await ask(first, 'a third one')).status).toBe(409);
    }
  });

  it('two changes of the tools with one Idempotency-Key: one is made, the other refused', async () => {
    const [first, second] = routers();
    const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } });
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'idempotency-key': `change-${round}` };
      const answers = await Promise.all(
        [first, second].map((router, i) =>
          router.request('PATCH', '/v1/catalogs/busy/tools', { put: [tool(`t${round}-${i}`)] }, headers),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    }
  });
}

describe('commands at once, in one process', () => {
  const folder = temporaryFolder();
  let service: RunningService;
  beforeAll(async () => {
    service = await RunningService.start(folder.path, [], { BANDOLIER_MODEL: 'none' });
    await service.ask('PUT', '/v1/catalogs/busy', {});
  });
  afterAll(async () => {
    expect(await service.stop()).toBe(0);
    folder.remove();
  });
  survive(() => [service, service]);
});

describe.skipIf(redisProgram.path === null)(
  `commands at once, over Redis${redisProgram.missing ?? ''}`,
  () => {
    let redis: RedisServer;
    let deployment: Deployment;
    beforeAll(async () => {
      redis = await startRedis();
      deployment = new Deployment(redis.url);
      const first = await deployment.startRouter();
      const written = await first.request('PUT', '/v1/catalogs/busy', {});
      const second = await deployment.startRouter();
      const headers = { 'x-bandolier-position': written.headers.get('x-bandolier-position')! };
      await second.request('GET', '/v1/catalogs/busy', undefined, headers);
    });
    afterAll(async () => {
      await deployment.dispose();
      await redis.dispose();
    });
    survive(() => [deployment.routers[0], deployment.routers[1]]);
  },
);
