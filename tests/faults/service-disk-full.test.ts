import { afterAll, describe, expect, it } from 'vitest';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { RunningService, until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { mountSmallDisk } from './small-disk.ts';

const QUERY = 'the parcel never came, make it right';
const disk = mountSmallDisk(16);
afterAll(() => disk?.remove());

describe.skipIf(disk === null)('a full disk (skipped where no tmpfs can be mounted)', () => {
  it('is answered 503 with Retry-After until there is space again, and costs nothing that was accepted', async () => {
    const dataDir = `${disk!.path}/data`;
    let service = await RunningService.start(dataDir);
    let shop = await Shop.open(service, 'default');
    const route = () => service.request<RouteAnswer>('POST', '/v1/route', { query: QUERY });
    const report = (decisionId: string) => {
      const body = { tool: 'refund_payment', outcome: 'success', more: true };
      return service.request('POST', `/v1/decisions/${decisionId}/rewards`, body);
    };
    const { decisionId } = (await route()).body;
    let accepted = 0;
    const reportUntilRefused = async () => {
      for (;;) {
        const answer = await report(decisionId);
        if (answer.status !== 202) return answer;
        accepted++;
      }
    };

    const refusal = reportUntilRefused();
    await until(() => accepted > 20);
    disk!.fill();
    const problem = { status: 503, body: { code: 'unavailable' } };
    expect(await refusal).toMatchObject(problem);
    expect((await refusal).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    // A page that was half empty may still take something.
    await until(async () => (await route()).status === 503);
    expect(await route()).toMatchObject(problem);
    expect((await route()).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    const tools = await service.request('PATCH', '/v1/catalogs/default/tools', { remove: ['close_ticket'] });
    if (tools.status !== 200) expect(tools).toMatchObject(problem);
    expect((await service.request('GET', '/livez')).status).toBe(200);
    const store = { ok: false, detail: expect.stringContaining('the disk is full') };
    expect(await service.request('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { checks: { store } },
    });
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('bandolier_store_up 0');
    expect((await shop.explain(decisionId)).candidates).not.toHaveLength(0);

    disk!.relieve();
    expect((await service.request('GET', '/readyz')).status).toBe(200);
    await until(async () => (await route()).status === 200);
    expect((await report(decisionId)).status).toBe(202);
    await shop.settled();
    expect(await shop.stats('refund_payment')).toMatchObject({
      called: accepted + 1,
      rewardSum: accepted + 1,
    });
    expect((await service.request('GET', '/readyz')).status).toBe(200);
    const gains = async () => (await shop.route(QUERY, { explore: false })).tools.map(({ gain }) => gain);
    const learned = await gains();
    expect(learned.some((gain) => gain !== 0)).toBe(true);

    await service.kill();
    service = await RunningService.start(dataDir);
    shop = new Shop(service, 'default');
    await shop.settled();
    expect(await shop.stats('refund_payment')).toMatchObject({ called: accepted + 1 });
    expect(await gains()).toEqual(learned);
    expect(await service.stop()).toBe(0);
  });

  it('is no reason to lose anything when the process is stopped meanwhile', async () => {
    const dataDir = `${disk!.path}/stopped`;
    let service = await RunningService.start(dataDir);
    let shop = await Shop.open(service, 'default');
    const { decisionId } = await shop.route(QUERY);
    const rewards = Array.from({ length: 50 }, (_, i) => ({
      decisionId,
      tool: 'refund_payment',
      outcome: 'success',
      idempotencyKey: `step-${i}`,
      more: true,
    }));
    const accepted = await Promise.all(
      rewards.map(async (reward, i) => {
        if (i === 25) disk!.fill();
        return (await service.request('POST', '/v1/rewards', { rewards: [reward] })).status === 202;
      }),
    );
    await service.stop('SIGTERM');
    disk!.relieve();
    service = await RunningService.start(dataDir);
    shop = new Shop(service, 'default');
    await shop.settled();
    const { called } = await shop.stats('refund_payment');
    expect(called).toBe(accepted.filter(Boolean).length);
    expect(await service.stop()).toBe(0);
  });
});
