import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { ITEMS, QUERY, TOOLS } from './usual-restaurant.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  expect(service.output).not.toMatch(/"level":[56]0/);
  folder.remove();
});

/** What the same words mean to each user in turn. */
const MEANT = TOOLS.map(({ name }) => name);

interface Answer {
  readonly decisionId: string;
  readonly tools: readonly { readonly name: string }[];
  readonly policy: { readonly name: string; readonly version: string; readonly variant?: string };
  readonly context?: readonly { readonly id: string }[];
}

interface Report {
  readonly status: string;
  readonly variants: readonly {
    readonly name: string;
    readonly units: number;
    readonly decisions: number;
    readonly exposures: number;
    readonly successRate: number;
  }[];
  readonly srm: { readonly ok: boolean };
  readonly differences: readonly { readonly metric: string; readonly estimate?: number }[];
}

const meantBy = (user: number): string => MEANT[user % MEANT.length];

async function open(catalog: string, users: number, settings: object): Promise<void> {
  await service.ask('PUT', `/v1/catalogs/${catalog}`, settings);
  await service.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools: TOOLS });
  for (let user = 0; user < users; user++) {
    await service.ask('PUT', `/v1/catalogs/${catalog}/users/u${user}/context`, { items: ITEMS });
  }
}

async function route(catalog: string, user: number, more: object, key?: string): Promise<Answer> {
  const request = { catalog, query: QUERY, userId: `u${user}`, ...more };
  const headers = key === undefined ? undefined : { 'idempotency-key': key };
  const { status, body } = await service.request<Answer>('POST', '/v1/route', request, headers);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

const report = ({ decisionId, tools }: Answer, user: number) => {
  const worked = tools.some(({ name }) => name === meantBy(user));
  const tool = worked ? meantBy(user) : tools[0].name;
  return service.ask('POST', '/v1/rewards', {
    rewards: [{ decisionId, tool, outcome: worked ? 'success' : 'failure' }],
  });
};

describe('an experiment with the policy that learns habits', () => {
  const path = '/v1/catalogs/habits/experiments';
  const USERS = 24;
  const ROUNDS = 10;

  it('compares it with the default on users who have items, is promoted, and taken back', async () => {
    await open('habits', USERS, {});
    const before = (await route('habits', 0, { learn: false })).policy;
    expect(before.name).toBe('sc-linucb-memory');
    await service.ask('POST', path, {
      name: 'habits',
      unit: 'userId',
      variants: [
        { name: 'default', share: 50, policy: 'sc-linucb-memory' },
        { name: 'context', share: 50, policy: 'sc-linucb-context' },
      ],
    });
    await service.ask('POST', `${path}/habits/start`);
    const served = new Map<string, Set<number>>();
    const habits = new Set<number>();
    let withItems = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const asking = Array.from({ length: USERS }, async (_, user) => {
        // Draws follow from the key, so that every run draws alike.
        const answer = await route('habits', user, { k: 2 }, `${round}-${user}`);
        const { variant, name } = answer.policy;
        expect(name).toBe(variant === 'context' ? 'sc-linucb-context' : 'sc-linucb-memory');
        served.set(variant!, (served.get(variant!) ?? new Set()).add(user));
        withItems += answer.context?.some(({ id }) => id === 'luigi') ? 1 : 0;
        const worked = answer.tools.some((tool) => tool.name === meantBy(user));
        if (variant === 'context' && worked) habits.add(user);
        await report(answer, user);
      });
      await Promise.all(asking);
      await service.settled('habits');
    }
    // A user may be read too late once in a while, and is then served without.
    expect(withItems).toBeGreaterThan(0.8 * ROUNDS * USERS);
    const units = Object.fromEntries(Array.from(served, ([variant, users]) => [variant, users.size]));
    expect(units.default + units.context).toBe(USERS);
    expect(Math.min(units.default, units.context)).toBeGreaterThan(4);

    const { variants, srm, status } = await service.ask<Report>('GET', `${path}/habits/report`);
    expect({ status, srm }).toMatchObject({ status: 'running', srm: { ok: true } });
    for (const one of variants) {
      expect(one).toMatchObject({ units: units[one.name], decisions: ROUNDS * units[one.name] });
      expect(one.exposures).toBe(one.decisions);
    }
    const rateOf = (name: string) => variants.find((one) => one.name === name)!.successRate;
    // The same two tools are right for a third of the users; habits are right for each.
    expect(rateOf('context')).toBeGreaterThan(rateOf('default') + 0.15);

    expect(await service.ask('POST', `${path}/habits/promote`, { variant: 'context' })).toMatchObject({
      status: 'promoted',
    });
    const promoted = await route('habits', 1, { learn: false });
    expect(promoted.policy).toMatchObject({ name: 'sc-linucb-context' });
    expect(promoted.policy.variant).toBeUndefined();
    const versions = `/v1/catalogs/habits/policies`;
    await service.ask('POST', `${versions}/${before.version}/activate`);
    expect((await route('habits', 1, { learn: false })).policy).toEqual(before);
    // And forward again: habits were kept meanwhile.
    await service.ask('POST', `${versions}/${promoted.policy.version}/activate`);
    expect(habits.size).toBeGreaterThan(2);
    for (const user of habits) {
      const { tools } = await route('habits', user, { k: 1, explore: false, learn: false });
      expect([user, tools[0].name]).toEqual([user, meantBy(user)]);
    }
  });
});

interface Evaluated {
  readonly id: string;
  readonly status: string;
  readonly decisions: number;
  readonly results: readonly {
    readonly name: string;
    readonly refusal: string | null;
    readonly estimates: readonly { estimator: string; value: number; lower: number; upper: number }[];
  }[];
}

describe('an evaluation of a log whose decisions have context', () => {
  // A log says as much as it has users.
  const USERS = 72;
  const EACH = 8;

  it('finds that habits would have earned more', async () => {
    await open('log', USERS, { policy: { name: 'uniform', exploration: 'plackett-luce' } });
    for (let done = 0; done < EACH * USERS; done += 24) {
      await Promise.all(
        Array.from({ length: 24 }, async (_, at) => {
          const user = (done + at) % USERS;
          await report(await route('log', user, { k: 3 }, `log-${done + at}`), user);
        }),
      );
      await service.settled('log');
    }
    const path = '/v1/catalogs/log/evaluations';
    const soft = { exploration: 'plackett-luce', temperature: 0.1 };
    const { id } = await service.ask<Evaluated>('POST', path, {
      candidates: [
        { name: 'default', policy: { name: 'sc-linucb-memory', ...soft } },
        { name: 'context', policy: { name: 'sc-linucb-context', ...soft } },
      ],
    });
    let view: Evaluated | undefined;
    await until(async () => {
      view = await service.ask<Evaluated>('GET', `${path}/${id}`);
      return view.status !== 'queued' && view.status !== 'running';
    });
    expect(view).toMatchObject({ status: 'done', decisions: EACH * USERS });
    const dr = (name: string) => {
      const { refusal, estimates } = view!.results.find((one) => one.name === name)!;
      expect([name, refusal]).toEqual([name, null]);
      return estimates.find(({ estimator }) => estimator === 'dr')!;
    };
    // Three of six tools by chance.
    expect(dr('logging').value).toBeGreaterThan(0.4);
    expect(dr('logging').value).toBeLessThan(0.6);
    // Tools that a user's items were used with are found by that, so the default earns more as well; habits add to it.
    expect(dr('default').lower).toBeGreaterThan(dr('logging').upper);
    expect(dr('context').lower).toBeGreaterThan(dr('logging').upper);
    expect(dr('context').value).toBeGreaterThan(dr('default').value + 0.01);
  });
});
