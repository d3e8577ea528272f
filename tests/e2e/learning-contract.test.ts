import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { POLICY_KINDS } from '../../bandit/policies/registry.ts';
import type { RewardHealth } from '../../src/rewards/health-report.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { SHOP_TOOLS, Shop } from './shop.ts';

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

const QUERY = 'the parcel never came, make it right';
const NAMES = SHOP_TOOLS.map(({ name }) => name);

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, value) => total + value, 0);
}

async function status(receipt: { readonly rewardId: string }) {
  return service.ask('GET', `/v1/rewards/${receipt.rewardId}`);
}

describe('propensities', () => {
  it('are computed where slates are drawn, and pins have 1', async () => {
    const shop = await Shop.open(service, 'drawn');
    const { decisionId, tools } = await shop.route(QUERY, { k: 4, pin: ['restock_item'] });
    const { propensityMethod, candidates, slateProbability } = await shop.explain(decisionId);
    expect(propensityMethod).toBe('exact');
    expect(sum(candidates.map(({ propensity }) => propensity))).toBeCloseTo(4, 3);
    expect(tools[0]).toMatchObject({ name: 'restock_item', propensity: 1, reason: 'pinned' });
    expect(slateProbability).toBeGreaterThan(0);
    expect(slateProbability).toBeLessThan(1);
    expect(candidates.every(({ propensity }) => propensity > 0)).toBe(true);
  });

  it.each([
    ['explore: false', {}, { explore: false }],
    ['ucb', { policy: { name: 'sc-linucb-memory', exploration: 'ucb' } }, {}],
    ['the kill switch', { killSwitch: true }, {}],
    ['nothing but pins', {}, { k: 2, pin: NAMES.slice(0, 2) }],
  ])('are 1 and 0, and called deterministic: %s', async (what, settings, request) => {
    const catalog = `deterministic-${what.replaceAll(/\W+/g, '-')}`;
    const shop = await Shop.open(service, catalog, settings);
    const { decisionId, tools } = await shop.route(QUERY, request);
    const { propensityMethod, candidates, slateProbability } = await shop.explain(decisionId);
    expect(propensityMethod).toBe('deterministic');
    expect(slateProbability).toBe(1);
    expect(tools.length).toBeGreaterThan(0);
    for (const { propensity, rank } of candidates) expect(propensity).toBe(rank === null ? 0 : 1);
  });
});

/** Policies with outcome memory. */
const REMEMBERS = ['sc-linucb-memory', 'sc-linucb-context'];

describe('every policy of the registry', () => {
  it.each(POLICY_KINDS.map(({ name }) => name))('serves, learns and explains itself: %s', async (name) => {
    const shop = await Shop.open(service, `policy-${name}`, { policy: { name } });
    for (let i = 0; i < 3; i++) {
      const { decisionId, policy, tools } = await shop.route(QUERY);
      expect(policy.name).toBe(name);
      expect(tools).toHaveLength(5);
      await shop.report(decisionId, { tool: tools[i].name, outcome: i === 1 ? 'failure' : 'success' });
    }
    await shop.settled();
    const { decisionId, policy } = await shop.route(QUERY);
    const { candidates, nearestCases } = await shop.explain(decisionId);
    for (const { name: _, rank, reason, features, taughtWords, sentence, ...numbers } of candidates) {
      const values = [...Object.values(numbers), ...Object.values(features)];
      expect(values.every(Number.isFinite)).toBe(true);
    }
    expect(nearestCases.length).toBe(REMEMBERS.includes(name) ? 1 : 0);
    const learns = [...REMEMBERS, 'sc-linucb', 'lin-ts'].includes(name);
    const { version } = policy;
    expect(await shop.metric('bandolier_learner_updates', { version })).toBe(learns ? 15 : 0);
  });
});

describe('outcome memory', () => {
  it('nominates a tool that retrieval does not find', async () => {
    const shop = await Shop.open(service, 'nominated');
    const crowd = Array.from({ length: 60 }, (_, i) => ({
      ...SHOP_TOOLS[3],
      name: `track_parcel_${i}`,
      description: `Say where parcel ${i} is, why it never came, and make it right.`,
    }));
    await service.ask('PATCH', `/v1/catalogs/${shop.catalog}/tools`, { put: crowd });
    const before = await shop.route(QUERY, { explore: false, k: 50 });
    expect(before.tools.map(({ name }) => name)).not.toContain('export_report');
    // It was called all the same, say by an agent that knows it from elsewhere.
    await shop.teach(QUERY, 'export_report', 3);
    const { tools } = await shop.route(`${QUERY}!`, { explore: false });
    expect(tools[0]).toMatchObject({ name: 'export_report', reason: 'remembered' });
  });
});

describe('a memory for more cases than usual', () => {
  it('is chosen with a parameter, learns, and comes back after a restart', async () => {
    const dataDir = `${folder.path}/many-cases`;
    let own = await RunningService.start(dataDir);
    const policyOf = (cases: number) => ({ policy: { name: 'sc-linucb-memory', parameters: { cases } } });
    let shop = await Shop.open(own, 'shop', policyOf(20_000));
    const queries = Array.from({ length: 12 }, (_, i) => `${QUERY}, ${'abcdefghijkl'[i].repeat(3)} ${i}`);
    for (const [i, query] of queries.entries()) await shop.teach(query, NAMES[i % NAMES.length], 1);
    await shop.teach(QUERY, 'restock_item', 4);
    const answers = async () => {
      const { decisionId, tools, policy } = await shop.route(QUERY, { explore: false, learn: false });
      const { nearestCases } = await shop.explain(decisionId);
      return { names: tools.map(({ name }) => name), policy, nearestCases };
    };
    const before = await answers();
    expect(before.names[0]).toBe('restock_item');
    expect(before.nearestCases.length).toBeGreaterThan(1);
    expect(await own.stop()).toBe(0);

    own = await RunningService.start(dataDir);
    shop = new Shop(own, 'shop');
    expect(await answers()).toEqual(before);
    await shop.teach(QUERY, 'restock_item', 1);
    const refused = await own.request('PUT', '/v1/catalogs/shop', policyOf(20_001));
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain('a whole number from 10 to 20000');
    expect(await own.stop()).toBe(0);
    expect(own.output).not.toMatch(/"level":[56]0/);
  });
});

describe('an explanation', () => {
  it('shows the nearest cases in counts, names features, and says it in words', async () => {
    const shop = await Shop.open(service, 'explained', { retainText: false });
    await shop.teach(QUERY, 'refund_payment', 3);
    const { decisionId } = await shop.route(`${QUERY} please`, { explore: false });
    const explanation = await shop.explain(decisionId);
    expect(explanation.query).toBeUndefined();
    const [nearest] = explanation.nearestCases;
    expect(nearest.similarity).toBeGreaterThan(0.7);
    expect(nearest.tools).toContainEqual({ name: 'refund_payment', worked: 3, tried: 3 });
    expect(JSON.stringify(explanation.nearestCases)).not.toContain('parcel never');
    const [first] = explanation.candidates;
    expect(first).toMatchObject({ name: 'refund_payment', rank: 1 });
    expect(Object.keys(first.features)).toEqual(
      expect.arrayContaining(['similarity', 'retrieval', 'h', 'c', 'mx', 'vote', 'rho', 'rate', 'taught']),
    );
    expect(first.mean).toBeCloseTo(first.base + first.gain, 5);
    expect(first.sentence).toMatch(/^Worked 3 of 3 times for similar queries; the description alone/);
    for (const { sentence } of explanation.candidates) expect(sentence).toMatch(/^[A-Z].*\.$/);
    expect(first.taughtWords).toEqual([]);
  });

  it('names the words that a tool was taught, for queries unlike those that taught it, where texts are kept', async () => {
    const shop = await Shop.open(service, 'taught', { retainText: true });
    await shop.teach('my zeppelin arrived broken', 'refund_payment', 1);
    const { decisionId } = await shop.route('zeppelin again', { explore: false });
    const { candidates } = await shop.explain(decisionId);
    const refund = candidates.find(({ name }) => name === 'refund_payment');
    expect(refund?.features.taught).toBeGreaterThan(0.05);
    expect(refund?.taughtWords).toContain('zeppelin');
    expect(refund?.sentence).toMatch(
      /^It helped with other queries that say “zeppelin”; the description alone/,
    );
  });
});

describe('the weight of a report', () => {
  it('counts as so many reports, in memory as two at the most', async () => {
    const shop = await Shop.open(service, 'weight');
    const { decisionId } = await shop.route(QUERY, { pin: ['restock_item'] });
    await shop.report(decisionId, { tool: 'restock_item', outcome: 'success', weight: 4 });
    await shop.settled();
    const after = await shop.route(QUERY, { explore: false });
    expect(after.tools[0].name).toBe('restock_item');
    const { nearestCases } = await shop.explain(after.decisionId);
    expect(nearestCases[0].tools).toContainEqual({ name: 'restock_item', worked: 2, tried: 2 });
    expect(await shop.stats('restock_item')).toMatchObject({ called: 1, successes: 1, rewardSum: 1 });

    const faint = await Shop.open(service, 'faint');
    const unsure = await faint.route(QUERY);
    await faint.report(unsure.decisionId, { tool: 'restock_item', outcome: 'success', weight: 0.01 });
    await faint.settled();
    expect((await faint.greedy(QUERY))[0]).not.toBe('restock_item');
  });
});

describe('somebody who wants one tool up and another one down', () => {
  it('can move them so far and no further, and is seen', async () => {
    const shop = await Shop.open(service, 'adversary', { rewards: { unitHourlyWeight: 3 } });
    await shop.teach(QUERY, 'refund_payment', 4);
    const honest = await shop.greedy(QUERY);
    expect(honest[0]).toBe('refund_payment');
    const before = await shop.metric('bandolier_learner_updates');

    const mallory = { unitId: 'mallory' };
    const receipts = [];
    for (let i = 0; i < 12; i++) {
      const { decisionId } = await shop.route(QUERY, mallory);
      receipts.push(await shop.report(decisionId, { tool: 'send_newsletter', outcome: 'success' }));
    }
    // The other way to do harm: nothing ever helps.
    for (let i = 0; i < 12; i++) {
      const { decisionId } = await shop.route(QUERY, mallory);
      await shop.report(decisionId, { outcome: 'failure' });
    }
    await shop.settled();
    expect(await status(receipts[0])).toMatchObject({ status: 'applied' });
    expect(await status(receipts[11])).toMatchObject({ status: 'applied', reason: 'unit-limit' });
    expect(await shop.stats('send_newsletter')).toMatchObject({ called: 12, successes: 12 });
    const taught = (await shop.metric('bandolier_learner_updates')) - before;
    expect(taught).toBeLessThanOrEqual(3 * NAMES.length);

    const health = await service.ask<RewardHealth>('GET', `/v1/rewards/health?catalog=${shop.catalog}`);
    expect(health.reports.overUnitLimit).toBeGreaterThan(9);
    expect(health.alerts.map(({ code }) => code)).toContain('unit-limit');
    // Others are heard as before.
    await shop.teach(QUERY, 'refund_payment', 3);
    expect((await shop.greedy(QUERY))[0]).toBe('refund_payment');
  });
});

describe('rewards that are not as they should be', () => {
  it.each([
    ['NaN', '{"tool": "track_parcel", "value": NaN}', 400],
    ['1e308', '{"tool": "track_parcel", "value": 1e308}', 422],
    ['-1e308', '{"tool": "track_parcel", "value": -1e308}', 422],
    ['1e999', '{"tool": "track_parcel", "value": 1e999}', 422],
    ['weight 1e308', '{"tool": "track_parcel", "value": 1, "weight": 1e308}', 422],
    ['weight 0', '{"tool": "track_parcel", "value": 1, "weight": 0}', 422],
  ])('are refused, and teach nothing: %s', async (_, body, expected) => {
    const shop = new Shop(service, 'default');
    await service.ask('PUT', '/v1/catalogs/default/tools', { tools: SHOP_TOOLS });
    const { decisionId } = await shop.route(QUERY);
    const answer = await service.request('POST', `/v1/decisions/${decisionId}/rewards`, body);
    expect(answer.status).toBe(expected);
    expect(await shop.metric('bandolier_learner_updates')).toBe(0);
  });

  it('about a tool that was not in the slate are learned as a call, and it is said so', async () => {
    const shop = await Shop.open(service, 'not-shown');
    const { decisionId } = await shop.route(QUERY, { k: 1, exclude: ['export_report'] });
    const receipt = await shop.report(decisionId, { tool: 'export_report', outcome: 'success' });
    expect(receipt).toMatchObject({
      status: 'queued',
      note: expect.stringContaining('was not in the slate'),
    });
    await shop.settled();
    expect(await status(receipt)).toMatchObject({ status: 'applied', reason: 'tool-not-shown' });
    expect(await shop.stats('export_report')).toMatchObject({ shown: 0, called: 1, successes: 1 });
    expect(await shop.greedy(QUERY)).toContain('export_report');
  });

  it('about a tool that nobody knows are rejected, and it is said so at once', async () => {
    const shop = await Shop.open(service, 'misspelt');
    const { decisionId } = await shop.route(QUERY);
    const receipt = await shop.report(decisionId, { tool: 'exprt_report', outcome: 'success' });
    expect(receipt).toMatchObject({ note: expect.stringContaining('no tool of catalog "misspelt"') });
    await shop.settled();
    expect(await status(receipt)).toMatchObject({ status: 'rejected', reason: 'tool-unknown' });
  });

  it('about a tool that is removed meanwhile are kept for when it is back', async () => {
    const shop = await Shop.open(service, 'removed');
    const path = `/v1/catalogs/${shop.catalog}/tools`;
    const { decisionId } = await shop.route(QUERY, { pin: ['restock_item'] });
    await service.ask('DELETE', `${path}/restock_item`);
    const receipt = await shop.report(decisionId, { tool: 'restock_item', outcome: 'success', weight: 4 });
    await shop.settled();
    expect(await status(receipt)).toMatchObject({ status: 'applied' });
    expect(await shop.greedy(QUERY, { k: 10 })).not.toContain('restock_item');
    const restock = SHOP_TOOLS.filter(({ name }) => name === 'restock_item');
    expect(await service.ask('PATCH', path, { put: restock })).toMatchObject({ added: 1 });
    expect((await shop.greedy(QUERY))[0]).toBe('restock_item');

    const stranger = await shop.report(decisionId, { tool: 'never_was', outcome: 'success' });
    await shop.settled();
    expect(await status(stranger)).toMatchObject({ status: 'rejected', reason: 'tool-unknown' });
  });
});

describe('odd catalogs', () => {
  it('one tool, and more wanted than there are', async () => {
    const shop = await Shop.open(service, 'single');
    await service.ask('PUT', `/v1/catalogs/${shop.catalog}/tools`, { tools: SHOP_TOOLS.slice(0, 1) });
    for (let i = 0; i < 3; i++) {
      const { decisionId, tools } = await shop.route('money back for a payment', { k: 50 });
      expect(tools).toMatchObject([{ name: NAMES[0], propensity: 1 }]);
      await shop.report(decisionId, { tool: NAMES[0], outcome: i === 1 ? 'failure' : 'success' });
    }
    await shop.settled();
    const last = await shop.route('money back for a payment', { k: 50 });
    const { candidates, propensityMethod } = await shop.explain(last.decisionId);
    expect(propensityMethod).toBe('exact');
    expect(candidates).toHaveLength(1);
    for (const value of Object.values(candidates[0]).filter((value) => typeof value === 'number')) {
      expect(Number.isFinite(value)).toBe(true);
    }
  });

  it('tools that are the same but for their names: outcomes tell them apart', async () => {
    const shop = await Shop.open(service, 'twins');
    const twins = Array.from({ length: 6 }, (_, i) => ({ ...SHOP_TOOLS[0], name: `twin_${'abcdef'[i]}` }));
    await service.ask('PUT', `/v1/catalogs/${shop.catalog}/tools`, { tools: twins });
    const query = 'give the customer their money back';
    const { decisionId } = await shop.route(query, { k: 3 });
    const { candidates } = await shop.explain(decisionId);
    expect(sum(candidates.map(({ propensity }) => propensity))).toBeCloseTo(3, 3);
    await shop.teach(query, 'twin_d', 4);
    expect((await shop.greedy(query))[0]).toBe('twin_d');
  });
});

describe('erasing what was learned', () => {
  const dataDir = `${folder.path}/erased`;

  it('holds over restarts, for a tool and for a user', async () => {
    let own = await RunningService.start(dataDir);
    let shop = await Shop.open(own, 'shop');
    await shop.teach(QUERY, 'refund_payment', 4);
    const asUser = async (query: string, tool: string): Promise<void> => {
      for (let i = 0; i < 4; i++) {
        const { decisionId } = await shop.route(query, { userId: 'ada', unitId: 'desk-7' });
        await shop.report(decisionId, { tool, outcome: 'success' });
      }
      await shop.settled();
    };
    const newsletter = 'tell everybody about the summer sale';
    await asUser(newsletter, 'close_ticket');
    expect((await shop.greedy(newsletter))[0]).toBe('close_ticket');
    expect(await shop.metric('bandolier_learner_cases')).toBe(2);

    const units = `/v1/catalogs/${shop.catalog}/units`;
    expect(await own.ask('DELETE', `${units}/nobody/memory`)).toEqual({ forgotten: 0 });
    expect(await own.ask('DELETE', `${units}/ada/memory`)).toEqual({ forgotten: 1 });
    const tool = `/v1/catalogs/${shop.catalog}/tools/refund_payment`;
    expect(await own.ask('DELETE', `${tool}/memory`)).toEqual({ forgotten: 1 });
    const isErased = async (): Promise<void> => {
      expect(await shop.metric('bandolier_learner_cases')).toBe(1);
      expect(await shop.stats('refund_payment')).toMatchObject({ shown: 0, called: 0, successes: 0 });
      expect(await own.ask('GET', tool)).toMatchObject({ name: 'refund_payment' });
      for (const query of [QUERY, newsletter]) {
        const { decisionId } = await shop.route(query, { k: 10, explore: false, learn: false });
        const { candidates, nearestCases } = await shop.explain(decisionId);
        const erased = candidates.find(({ name }) => name === 'refund_payment')!;
        expect([erased.trials, erased.features.rate]).toEqual([0, 0.5]);
        const remembered = nearestCases.flatMap(({ tools }) => tools.map(({ name }) => name));
        expect(remembered).not.toContain('refund_payment');
        const working = nearestCases.flatMap(({ tools }) => tools.filter(({ worked }) => worked > 0));
        expect(working).toEqual([]);
      }
    };
    await isErased();
    await own.stop();

    own = await RunningService.start(dataDir);
    shop = new Shop(own, 'shop');
    await isErased();
    // It can be learned again.
    await shop.teach(QUERY, 'refund_payment', 4);
    expect((await shop.greedy(QUERY))[0]).toBe('refund_payment');
    expect(await own.stop()).toBe(0);
  });
});
