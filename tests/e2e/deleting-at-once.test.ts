import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';

const ROUNDS = 200;
/** So many races at a time, each about another catalog. */
const LANES = 10;
const TOOL = { name: 'refund', description: 'Gives the money back', inputSchema: { type: 'object' } };
const QUERY = 'give me my money back';

interface Raced {
  /** By name: whether it is there, and how many tools it has. */
  readonly catalogs: Map<string, number | null>;
  readonly wrong: string[];
}

/**
 * Everything that can be asked of a catalog, while it is deleted, and sometimes made anew, through two routers (which
 * may be one). A hundred names take turns, so that the stores
 * keep what the races left behind, and some meet what an earlier one left.
 */
async function race(first: RunningService, second: RunningService): Promise<Raced> {
  const raced: Raced = { catalogs: new Map(), wrong: [] };
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    for (let round = lane; round < ROUNDS; round += LANES) await raceOnce(round, first, second, raced);
  });
  await Promise.all(lanes);
  return raced;
}

async function raceOnce(
  round: number,
  first: RunningService,
  second: RunningService,
  raced: Raced,
): Promise<void> {
  const name = `race-${round % 100}`;
  const path = `/v1/catalogs/${name}`;
  await first.ask('PUT', path, {});
  await until(async () => (await second.request('GET', path)).status === 200);
  await first.ask('PUT', `${path}/tools`, { tools: [TOOL] });
  const decided = await first.ask<{ decisionId: string }>('POST', '/v1/route', {
    catalog: name,
    query: QUERY,
    activate: 'later',
  });
  const variants = [
    { name: 'a', share: 50 },
    { name: 'b', share: 50, policy: 'cosine' },
  ];
  const asked: [RunningService, string, string, unknown?][] = [
    [first, 'DELETE', path],
    [second, 'PUT', path, { killSwitch: true }],
    [second, 'POST', '/v1/route', { catalog: name, query: QUERY }],
    [first, 'POST', '/v1/route', { catalog: name, query: QUERY }],
    [first, 'POST', `/v1/decisions/${decided.decisionId}/activate`],
    [second, 'POST', `/v1/decisions/${decided.decisionId}/rewards`, { tool: 'refund', value: 1 }],
    [second, 'POST', `${path}/experiments`, { name: 'trial', unit: 'decision', variants }],
    [first, 'PATCH', `${path}/tools`, { put: [{ ...TOOL, name: 'other' }] }],
    [first, 'GET', `${path}/digest`],
    [second, 'GET', `${path}/policies`],
    [second, 'DELETE', path],
  ];
  // The PUT is left out of half of the rounds: then nothing may bring the catalog back.
  const now = asked.filter(([, method, to]) => round % 2 === 0 || method !== 'PUT' || to !== path);
  const answers = await Promise.all(
    now.map(async ([router, method, to, body]) => {
      const answer = await router.request(method, to, body);
      const label = `${method} ${to.replace(/race-\d+.*?(?=\/|$)/, 'x')} ${answer.status}`;
      const isFine = answer.status < 300 || [404, 409].includes(answer.status);
      const canBeRepeated = answer.status === 503 && answer.headers.get('retry-after') !== null;
      if (!isFine && !canBeRepeated)
        raced.wrong.push(`round ${round}: ${label} ${JSON.stringify(answer.body)}`);
      return answer.status;
    }),
  );
  if (!answers.includes(204)) raced.wrong.push(`round ${round}: nobody deleted it: ${answers}`);
  await until(async () => {
    const seen = await Promise.all([first, second].map((router) => router.request('GET', path)));
    const [one, other] = seen.map(({ status, body }) => (status === 200 ? (body.tools as number) : null));
    raced.catalogs.set(name, one);
    return one === other;
  });
  if (round % 2 === 1 && raced.catalogs.get(name) !== null) raced.wrong.push(`round ${round}: it is back`);
}

/** What a new process finds of them. */
async function found(service: RunningService): Promise<Map<string, number | null>> {
  const { catalogs } = await service.ask<{ catalogs: { name: string; tools: number }[] }>(
    'GET',
    '/v1/catalogs',
  );
  const tools = new Map(catalogs.map((catalog) => [catalog.name, catalog.tools]));
  return new Map(
    Array.from({ length: 100 }, (_, i) => [`race-${i}`, tools.get(`race-${i}`) ?? null] as const),
  );
}

/** One is deleted and made again, through whichever router: nothing of the first is left in the second. */
async function beginsAnew(first: RunningService, second: RunningService): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await first.ask('PUT', '/v1/catalogs/again', { killSwitch: true, rewards: { windowSeconds: 77 } });
    await first.ask('PUT', '/v1/catalogs/again/tools', { tools: [TOOL] });
    await until(async () => (await second.request('GET', '/v1/catalogs/again/tools/refund')).status === 200);
    expect((await first.request('DELETE', '/v1/catalogs/again')).status).toBe(204);
    const made = await second.ask('PUT', '/v1/catalogs/again', {});
    expect(made).toMatchObject({
      tools: 0,
      settings: { killSwitch: false, rewards: { windowSeconds: 600 } },
    });
    expect((await second.request('DELETE', '/v1/catalogs/again')).status).toBe(204);
    await until(async () => (await first.request('GET', '/v1/catalogs/again')).status === 404);
  }
}

describe('catalogs that are deleted while they are used, in one process', () => {
  const folder = temporaryFolder();
  let service: RunningService;
  const start = () => RunningService.start(folder.path, [], { BANDOLIER_MODEL: 'none' });
  beforeAll(async () => {
    service = await start();
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  it('answer what is true, and are after a crash what they were answered to be', async () => {
    const { catalogs, wrong } = await race(service, service);
    expect(wrong).toEqual([]);
    await service.kill();
    service = await start();
    expect(await found(service)).toEqual(catalogs);
  });

  it('begin anew', () => beginsAnew(service, service));

  it('`default` is emptied, and asks who comes in between to come again', async () => {
    for (let round = 0; round < 50; round++) {
      await service.ask('PATCH', '/v1/catalogs/default/tools', { put: [TOOL] });
      const [deleted, routed, configured] = await Promise.all([
        service.request('DELETE', '/v1/catalogs/default'),
        service.request('POST', '/v1/route', { query: QUERY }),
        service.request('PUT', '/v1/catalogs/default', { killSwitch: false }),
      ]);
      expect([deleted.status, configured.status]).toEqual([204, 200]);
      expect([200, 503]).toContain(routed.status);
      expect(await service.ask('GET', '/v1/catalogs/default')).toMatchObject({ tools: 0 });
    }
  });
});

describe.skipIf(redisProgram.path === null)(
  `catalogs that are deleted while they are used, over Redis${redisProgram.missing ?? ''}`,
  () => {
    let redis: RedisServer;
    let deployment: Deployment;
    let first: RunningService;
    let second: RunningService;
    beforeAll(async () => {
      redis = await startRedis();
      deployment = new Deployment(redis.url);
      [first, second] = [await deployment.startRouter(), await deployment.startRouter()];
      await deployment.startWorker();
    });
    afterAll(async () => {
      await deployment.dispose();
      await redis.dispose();
    });

    it('answer what is true, and are for a new router what they were answered to be', async () => {
      const { catalogs, wrong } = await race(first, second);
      expect(wrong).toEqual([]);
      expect(await found(await deployment.startRouter())).toEqual(catalogs);
    });

    it('begin anew', () => beginsAnew(first, second));

    it('are deleted and made through both routers again and again: nobody is told of a fault of ours', async () => {
      const wrong: string[] = [];
      for (let round = 0; round < ROUNDS / 2; round++) {
        const name = round % 3 === 0 ? 'default' : `often-${round % 3}`;
        const asked = [first, second].flatMap((router) => [
          router.request('DELETE', `/v1/catalogs/${name}`),
          router.request('PUT', `/v1/catalogs/${name}`, { killSwitch: true }),
          router.request('DELETE', `/v1/catalogs/${name}`),
        ]);
        for (const { status, body } of await Promise.all(asked)) {
          const isRefused = status === 503 && /is being (deleted|emptied|opened)/.test(String(body.detail));
          if (status !== 200 && status !== 204 && status !== 404 && !isRefused) {
            wrong.push(`round ${round}: ${status} ${body.detail}`);
          }
        }
      }
      expect(wrong).toEqual([]);
      for (const router of [first, second]) {
        await until(async () => (await router.request('GET', '/v1/catalogs/default')).status === 200);
      }
    });
  },
);
