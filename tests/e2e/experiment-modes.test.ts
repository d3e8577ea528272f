import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
  expect(service.output).not.toMatch(/"level":[56]0/);
  folder.remove();
});

const QUERY = 'give the customer their money back';

async function start(shop: Shop, experiment: object): Promise<string> {
  const path = `/v1/catalogs/${shop.catalog}/experiments`;
  const { name } = await service.ask<{ name: string }>('POST', path, { unit: 'unitId', ...experiment });
  await service.ask('POST', `${path}/${name}/start`);
  return `${path}/${name}`;
}

describe('modes of a variant', () => {
  it('shadow: ranks what another serves, and is compared tool by tool', async () => {
    const shop = await Shop.open(service, 'shadow');
    const variants = [
      { name: 'chance', share: 100, policy: 'uniform' },
      { name: 'shade', policy: 'cosine', mode: 'shadow' },
    ];
    const path = await start(shop, { name: 'dark', variants });
    for (let i = 0; i < 30; i++) {
      const { decisionId, policy } = await shop.route(QUERY, { unitId: `u${i}`, k: 3 });
      expect(policy).toMatchObject({ name: 'uniform', variant: 'chance' });
      await shop.report(decisionId, { tool: 'refund_payment', outcome: 'success' });
    }
    await shop.settled();
    const report = await service.ask<{ shadows: Record<string, number>[] }>('GET', `${path}/report`);
    expect(report.shadows).toEqual([
      expect.objectContaining({ name: 'shade', decisions: 30, successes: 30, hitRate: 1 }),
    ]);
    expect(report.shadows[0].servedHitRate).toBeLessThan(0.9);
  });

  it('apprentice: serves retrieval order, and learns', async () => {
    const shop = await Shop.open(service, 'apprentice');
    const variants = [
      { name: 'pupil', share: 100, mode: 'apprentice', learnsFrom: 'own', startsFrom: 'cold' },
    ];
    const path = await start(shop, { name: 'school', variants });
    const retrieval = (await shop.route(QUERY, { unitId: 'u' })).tools.map(({ name }) => name);
    const unlikely = retrieval[4];
    for (let i = 0; i < 5; i++) {
      const { decisionId, tools, fallback } = await shop.route(QUERY, { unitId: `u${i}` });
      expect(tools.map(({ name }) => name)).toEqual(retrieval);
      expect(fallback).toBeNull();
      await shop.report(decisionId, { tool: unlikely, outcome: 'success' });
    }
    await shop.settled();
    await service.ask('POST', `${path}/promote`, { variant: 'pupil' });
    expect((await shop.greedy(QUERY, { k: 1 }))[0]).toBe(unlikely);
  });

  it('freeze: serves what was known, and learns nothing', async () => {
    const shop = await Shop.open(service, 'freeze');
    await start(shop, { name: 'ice', variants: [{ name: 'frozen', share: 100, mode: 'freeze' }] });
    const before = await shop.greedy(QUERY, { unitId: 'u' });
    for (let i = 0; i < 4; i++) {
      const { decisionId } = await shop.route(QUERY, { unitId: 'u' });
      await shop.report(decisionId, { tool: 'restock_item', outcome: 'success' });
    }
    await shop.settled();
    expect(await shop.greedy(QUERY, { unitId: 'u' })).toEqual(before);
    expect((await shop.greedy(QUERY))[0]).toBe('restock_item');
  });
});

describe('assignment', () => {
  it('is the published one', async () => {
    const golden = JSON.parse(
      readFileSync(new URL('../golden/assignment.json', import.meta.url), 'utf8'),
    ) as { buckets: { division: string; salt: string; unit: string; bucket: number }[] };
    const [{ salt }] = golden.buckets;
    const shop = await Shop.open(service, 'golden');
    const variants = [
      { name: 'low', share: 37.5 },
      { name: 'high', share: 62.5 },
    ];
    await start(shop, { name: 'published', variants, salt });
    const known = golden.buckets.filter(
      (other) => other.division === 'experiment' && other.salt === salt && /^[ -~]+$/.test(other.unit),
    );
    expect(known.length).toBeGreaterThan(4);
    for (const { unit, bucket } of known) {
      const { policy } = await shop.route(QUERY, { unitId: unit });
      expect(policy.variant).toBe(bucket < 3750 ? 'low' : 'high');
    }
  });
});

describe('an experiment that cannot be', () => {
  const two = [
    { name: 'a', share: 50 },
    { name: 'b', share: 50 },
  ];
  it.each([
    [
      'shares that do not add up',
      {
        variants: [
          { name: 'a', share: 50 },
          { name: 'b', share: 40 },
        ],
      },
      'validation-failed',
    ],
    [
      'shares finer than basis points',
      {
        variants: [
          { name: 'a', share: 0.001 },
          { name: 'b', share: 99.999 },
        ],
      },
      'validation-failed',
    ],
    [
      'shares as fractions',
      {
        variants: [
          { name: 'a', share: 0.5 },
          { name: 'b', share: 0.5 },
        ],
      },
      'validation-failed',
    ],
    [
      'shares in basis points',
      {
        variants: [
          { name: 'a', share: 5000 },
          { name: 'b', share: 5000 },
        ],
      },
      'validation-failed',
    ],
    ['an unknown policy', { variants: [{ name: 'a', share: 100, policy: 'sc-linucbb' }] }, 'unknown-policy'],
    [
      'a policy parameter out of range',
      { variants: [{ name: 'a', share: 100, policy: { name: 'sc-linucb', parameters: { alpha: -1 } } }] },
      'validation-failed',
    ],
    ['two variants of one name', { variants: [two[0], two[0]] }, 'validation-failed'],
    ['only shadows', { variants: [{ name: 'a', mode: 'shadow' }] }, 'validation-failed'],
    [
      'a shadow with a share',
      { variants: [...two, { name: 'c', share: 1, mode: 'shadow' }] },
      'validation-failed',
    ],
    ['no variants', { variants: [] }, 'validation-failed'],
    ['an unknown unit', { variants: two, unit: 'planet' }, 'validation-failed'],
    ['an unknown metric', { variants: two, metric: 'happiness' }, 'validation-failed'],
    ['another catalog in its body', { variants: two, catalog: 'default' }, 'validation-failed'],
    ['nothing to compare with', { variants: two, against: 'c' }, 'validation-failed'],
    ['a name of every object', { variants: two, name: 'constructor' }, 'validation-failed'],
    ['a catalog that there is not', { variants: two }, 'catalog-not-found', 'nowhere'],
  ])('%s', async (_, experiment, code, catalog = 'golden') => {
    const path = `/v1/catalogs/${catalog}/experiments`;
    const { status, body } = await service.request('POST', path, {
      name: 'x',
      unit: 'unitId',
      ...experiment,
    });
    expect(body).toMatchObject({ code });
    expect(body.suggestedFix).toBeTruthy();
    expect(status).toBe(code === 'catalog-not-found' ? 404 : 422);
  });

  it('is refused where it overlaps another, ended twice, or promoted under a mismatch', async () => {
    const shop = await Shop.open(service, 'conflicts');
    const path = await start(shop, { name: 'first', variants: two });
    const draft = { name: 'second', unit: 'userId', variants: two };
    await service.ask('POST', '/v1/catalogs/conflicts/experiments', draft);
    const ask = async (of: string, action: string, body?: object) =>
      (await service.request('POST', `/v1/catalogs/conflicts/experiments/${of}/${action}`, body)).body.code;
    expect(await ask('second', 'start')).toBe('experiment-overlap');
    const again = await service.request('POST', '/v1/catalogs/conflicts/experiments', draft);
    expect(again).toMatchObject({ status: 409, body: { code: 'experiment-exists' } });
    // Traffic of one variant alone, as if the other one lost its units.
    for (let unit = 0, sent = 0; sent < 40; unit++) {
      const { decisionId, policy } = await shop.route(QUERY, { unitId: `u${unit}`, activate: 'later' });
      if (policy.variant === 'b') continue;
      await service.ask('POST', `/v1/decisions/${decisionId}/activate`);
      sent++;
    }
    const report = await service.ask<{ srm: { ok: boolean } }>('GET', `${path}/report`);
    expect(report.srm.ok).toBe(false);
    expect(await ask('first', 'promote', { variant: 'a' })).toBe('sample-ratio-mismatch');
    await ask('first', 'stop');
    expect(await ask('first', 'stop')).toBe('experiment-conflict');
    expect(await ask('third', 'stop')).toBe('experiment-not-found');
  });
});
