import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder, until } from './running-service.ts';
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

const QUERY = 'the parcel never came, make it right';

describe('the loop: route, report, route again', () => {
  it('serves what worked, and says why', async () => {
    const shop = await Shop.open(service, 'loop');
    const before = await shop.route(QUERY, { k: 3, explore: false });
    expect(before.tools.map(({ name }) => name)).not.toContain('refund_payment');
    expect(before.fallback).toBeNull();

    for (let i = 0; i < 4; i++) {
      const { decisionId } = await shop.route(QUERY, { pin: ['refund_payment'] });
      const receipt = await shop.report(decisionId, { tool: 'refund_payment', outcome: 'success' });
      expect(receipt).toMatchObject({ status: 'queued' });
      expect(receipt.note).toBeUndefined();
      await shop.settled();
      expect(await service.ask('GET', `/v1/rewards/${receipt.rewardId}`)).toMatchObject({
        status: 'applied',
      });
    }

    const after = await shop.route(`${QUERY}!`, { k: 3, explore: false });
    expect(after.tools[0]).toMatchObject({ name: 'refund_payment', rank: 1, propensity: 1 });
    expect(after.tools[0].base).toBeGreaterThan(before.tools[0].base);
    const { candidates } = await shop.explain(after.decisionId);
    expect(candidates[0]).toMatchObject({ name: 'refund_payment', rank: 1 });
    expect(candidates[0].retrievalRank).toBeGreaterThan(3);
    expect(candidates[0].sentence).toMatch(/^Worked 4 of 4 times for similar queries; the description alone/);
    expect(candidates.find(({ name }) => name === 'track_parcel')?.trials).toBeGreaterThan(0);

    // What a decision was made of does not change afterwards.
    const earlier = await shop.explain(before.decisionId);
    expect(earlier.candidates.every(({ trials }) => trials === 0)).toBe(true);
    expect(await shop.stats('refund_payment')).toMatchObject({ called: 4, successes: 4, rewardSum: 4 });
  });

  it('leaves other requests as they were', async () => {
    const shop = await Shop.open(service, 'other-requests');
    const query = 'the sales figures of march';
    const before = await shop.greedy(query);
    await shop.teach(QUERY, 'refund_payment', 4);
    expect((await shop.greedy(query))[0]).toBe(before[0]);
    expect(before[0]).toBe('export_report');
  });

  it('counts a report once, however often it is sent', async () => {
    const shop = await Shop.open(service, 'duplicates');
    const { decisionId } = await shop.route(QUERY);
    const report = { decisionId, tool: 'track_parcel', value: 0.5, more: true, idempotencyKey: 'step-1' };
    const first = await service.ask<Results>('POST', '/v1/rewards', { rewards: [report, report] });
    expect(first.results.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
    await shop.settled();
    const again = await service.ask<Results>('POST', '/v1/rewards', { rewards: [report] });
    expect(again.results).toEqual([{ rewardId: first.results[0].rewardId, status: 'duplicate' }]);
    const { decisionId: _, idempotencyKey, ...outcome } = report;
    const path = `/v1/decisions/${decisionId}/rewards`;
    const { body } = await service.request('POST', path, outcome, { 'idempotency-key': idempotencyKey });
    expect(body).toEqual(again.results[0]);
    expect(await shop.stats('track_parcel')).toMatchObject({ shown: 1, called: 1, rewardSum: 0.5 });
    expect(await shop.metric('bandolier_learner_updates')).toBe(1);
  });

  it('answers a repeated request with the decision that it led to', async () => {
    const shop = await Shop.open(service, 'repeated-request');
    const ask = async () => {
      const headers = { 'idempotency-key': 'turn-7' };
      return (await service.request('POST', '/v1/route', { query: QUERY, catalog: shop.catalog }, headers))
        .body;
    };
    const first = await ask();
    await shop.teach(QUERY, 'refund_payment', 3);
    expect(await ask()).toEqual(first);
  });

  it('keeps a decision open for more, then learns what was shown and not used', async () => {
    const shop = await Shop.open(service, 'more');
    const { decisionId, tools } = await shop.route(QUERY, { k: 4 });
    const [one, two] = tools.map(({ name }) => name);
    await shop.report(decisionId, { tool: one, outcome: 'failure', more: true });
    await shop.settled();
    expect(await shop.metric('bandolier_learner_updates')).toBe(1);
    expect(await shop.metric('bandolier_learner_cases')).toBe(0);
    await shop.report(decisionId, { tool: two, outcome: 'success' });
    await shop.settled();
    expect(await shop.metric('bandolier_learner_updates')).toBe(4);
    expect(await shop.metric('bandolier_learner_cases')).toBe(1);
    // A call that is reported after that still counts.
    await shop.report(decisionId, { tool: tools[2].name, outcome: 'success' });
    await shop.settled();
    expect(await shop.metric('bandolier_learner_updates')).toBe(5);
    const { rewards } = await shop.explain(decisionId);
    expect(rewards.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
  });

  it('does not learn from outcomes that say nothing, or from requests that must not teach', async () => {
    const shop = await Shop.open(service, 'silent');
    const timedOut = await shop.route(QUERY);
    const receipt = await shop.report(timedOut.decisionId, {
      tool: 'track_parcel',
      outcome: 'timeout',
      more: true,
    });
    const unteaching = await shop.route(QUERY, { learn: false });
    await shop.report(unteaching.decisionId, { tool: 'track_parcel', outcome: 'success' });
    await shop.settled();
    expect(await service.ask('GET', `/v1/rewards/${receipt.rewardId}`)).toMatchObject({
      status: 'applied',
      reason: 'outcome-teaches-nothing',
    });
    expect(await shop.metric('bandolier_learner_updates')).toBe(0);
    expect(await shop.stats('track_parcel')).toMatchObject({ called: 2, successes: 1, unlearned: 1 });
  });

  it('takes rewards of a slate that is shown later only once it was shown', async () => {
    const shop = await Shop.open(service, 'activation');
    const { decisionId, rewardDeadline } = await shop.route(QUERY, { activate: 'later' });
    const path = `/v1/decisions/${decisionId}/rewards`;
    const early = await service.request('POST', path, { tool: 'track_parcel', outcome: 'success' });
    expect(early).toMatchObject({ status: 409, body: { code: 'decision-not-activated' } });
    expect((await shop.explain(decisionId)).activatedAt).toBeNull();

    const activated = await service.ask('POST', `/v1/decisions/${decisionId}/activate`);
    expect(Date.parse(String(activated.rewardDeadline))).toBeGreaterThan(Date.parse(rewardDeadline));
    expect(await service.ask('POST', `/v1/decisions/${decisionId}/activate`)).toEqual(activated);
    await shop.report(decisionId, { tool: 'track_parcel', outcome: 'success' });
    await shop.settled();
    expect(await shop.stats('track_parcel')).toMatchObject({ called: 1, successes: 1 });
  });

  it('closes at the deadline what was left open, learns silence where it counts, and logs what comes late', async () => {
    const rewards = { windowSeconds: 5 };
    const shop = await Shop.open(service, 'deadline', { rewards });
    const silence = await Shop.open(service, 'silence', { rewards: { ...rewards, defaultReward: 0 } });
    const strict = await Shop.open(service, 'strict', { rewards: { ...rewards, onLate: 'reject' } });
    const open = await shop.route(QUERY, { k: 4 });
    await shop.report(open.decisionId, { tool: open.tools[0].name, outcome: 'success', more: true });
    const unreported = await shop.route(QUERY, { k: 4 });
    await silence.route(QUERY, { k: 4 });
    const unpunctual = await strict.route(QUERY);
    await shop.settled();
    expect(await shop.metric('bandolier_learner_updates')).toBe(1);

    const settled = (of: Shop) => of.metric('bandolier_entries_folded_total', { kind: 'settlement' });
    await until(async () => (await settled(shop)) === 1 && (await settled(silence)) === 1);
    expect(await shop.metric('bandolier_learner_updates')).toBe(4);
    expect(await silence.metric('bandolier_learner_updates')).toBe(4);

    await until(() => Date.now() > Date.parse(unpunctual.rewardDeadline));
    const late = await shop.report(unreported.decisionId, { tool: 'restock_item', outcome: 'success' });
    expect(late.status).toBe('late');
    const path = `/v1/decisions/${unpunctual.decisionId}/rewards`;
    const refused = await service.request('POST', path, { tool: 'track_parcel', outcome: 'success' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'reward-late' } });
    await shop.settled();
    expect(await service.ask('GET', `/v1/rewards/${late.rewardId}`)).toMatchObject({ status: 'late' });
    expect(await shop.metric('bandolier_learner_updates')).toBe(4);
    expect(await shop.stats('restock_item')).toMatchObject({ called: 0, rewardSum: 0 });
    const health = await service.ask('GET', `/v1/rewards/health?catalog=${shop.catalog}`);
    expect(health).toMatchObject({ reports: { applied: 1, late: 1 }, decisions: { routed: 2, rewarded: 2 } });
  });
});

interface Results {
  readonly results: readonly { readonly rewardId: string; readonly status: string }[];
}
