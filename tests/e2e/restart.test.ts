import { afterAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';
import { metric, SHOP_TOOLS, Shop } from './shop.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const QUERY = 'the parcel never came, make it right';

/** Everything that a restart must not change. */
async function snapshotOf(shop: Shop, decisionId: string) {
  const { service, catalog } = shop;
  const { decisionId: _, rewardDeadline, ...greedy } = await shop.route(QUERY, { k: 10, explore: false });
  return {
    greedy,
    explanation: await shop.explain(decisionId),
    stats: await Promise.all(SHOP_TOOLS.map(({ name }) => shop.stats(name))),
    tools: await service.ask('GET', `/v1/catalogs/${catalog}/tools`),
    settings: await service.ask('GET', `/v1/catalogs/${catalog}`),
  };
}

describe('a restart', () => {
  it('keeps everything bit for bit, and embeds nothing', async () => {
    const dataDir = `${folder.path}/warm`;
    let service = await RunningService.start(dataDir);
    const shop = await Shop.open(service, 'shop', { policy: { name: 'sc-linucb-memory' }, retainText: true });
    await shop.teach(QUERY, 'refund_payment', 5);
    await shop.teach('write to all our customers', 'send_newsletter', 3);
    const open = await shop.route(QUERY);
    await shop.report(open.decisionId, { tool: 'track_parcel', outcome: 'failure', more: true });
    await shop.settled();
    const before = await snapshotOf(shop, open.decisionId);
    expect(await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' })).toBe(
      SHOP_TOOLS.length,
    );
    expect(await service.stop()).toBe(0);

    service = await RunningService.start(dataDir);
    expect(await metric(service, 'bandolier_texts_embedded_total', {})).toBe(0);
    const again = new Shop(service, 'shop');
    expect(await snapshotOf(again, open.decisionId)).toEqual(before);
    // What was open before goes on.
    await again.report(open.decisionId, { tool: 'refund_payment', outcome: 'success' });
    await again.settled();
    expect(await again.stats('refund_payment')).toMatchObject({ called: 6, successes: 6 });
    expect(await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' })).toBe(0);
    expect(await service.stop()).toBe(0);
    expect(service.output).not.toMatch(/"level":[56]0/);
  });

  it('with another embedding model changes nothing; moved to it, a catalog learns anew and has the rest again later', async () => {
    const dataDir = `${folder.path}/models`;
    let service = await RunningService.start(dataDir);
    let shop = await Shop.open(service, 'shop');
    await shop.teach(QUERY, 'refund_payment', 4);
    const learned = await shop.route(QUERY, { k: 10, explore: false });
    expect(learned.tools[0].name).toBe('refund_payment');
    await service.stop();

    service = await RunningService.start(dataDir, [], { BANDOLIER_MODEL: 'none' });
    shop = new Shop(service, 'shop');
    const unmoved = await shop.route(QUERY, { k: 10, explore: false, learn: false });
    expect(unmoved.tools[0].name).toBe('refund_payment');
    expect(unmoved.policy).toEqual(learned.policy);
    await shop.configure({ embedder: 'none' });
    const words = await shop.route(QUERY, { k: 10, explore: false });
    expect(words.policy.version).not.toBe(learned.policy.version);
    expect(words.tools[0].name).not.toBe('refund_payment');
    expect(words.tools.every(({ gain }) => gain === 0)).toBe(true);
    // What was decided with the other model can be reported, but not be learned.
    const receipt = await shop.report(learned.decisionId, { tool: 'refund_payment', outcome: 'success' });
    await shop.teach(QUERY, 'update_address', 4);
    expect(await service.ask('GET', `/v1/rewards/${receipt.rewardId}`)).toMatchObject({
      status: 'rejected',
      reason: 'embedder-changed',
    });
    expect((await shop.greedy(QUERY))[0]).toBe('update_address');
    expect(await shop.stats('refund_payment')).toMatchObject({ called: 4 });
    await service.stop();

    service = await RunningService.start(dataDir);
    shop = new Shop(service, 'shop');
    expect((await shop.greedy(QUERY))[0]).toBe('update_address');
    await shop.configure({ embedder: 'bundled' });
    const back = await shop.route(QUERY, { k: 10, explore: false });
    expect(back.policy).toEqual(learned.policy);
    expect(back.tools.map(({ name, gain }) => [name, gain])).toEqual(
      learned.tools.map(({ name, gain }) => [name, gain]),
    );
    // The vectors of the tools had been kept; one query is all that the model had to read.
    expect(await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' })).toBe(0);
    expect(await service.stop()).toBe(0);
  });
});
