import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
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

const QUERY = 'give the customer their money back';

interface Result {
  readonly name: string;
  readonly kind: string;
  readonly refusal: string | null;
  readonly effectiveSampleSize: number;
  readonly estimates: readonly { estimator: string; value: number; lower: number; upper: number }[];
}

interface View {
  readonly id: string;
  readonly status: string;
  readonly progress: number;
  readonly decisions: number;
  readonly winner: string | null;
  readonly candidates: readonly { name: string; policy: object }[];
  readonly reason: string | null;
  readonly skipped: Record<string, number>;
  readonly results: readonly Result[];
}

/**
 * Decisions of a catalog that serves by chance: everything is shown now and then. Draws follow from the id of a decision, and the id from
 * the key, so that every run draws alike.
 */
async function logged(shop: Shop, decisions: number, more: object = {}): Promise<void> {
  for (let done = 0; done < decisions; done += 20) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const asked = { query: QUERY, catalog: shop.catalog, k: 2, ...more };
        const key = { 'idempotency-key': [...Object.keys(more), done + at].join('-') };
        const { body } = await service.request<RouteAnswer>('POST', '/v1/route', asked, key);
        const { decisionId, tools } = body;
        const called = tools.find(({ name }) => name === 'refund_payment');
        const tool = called?.name ?? tools[0].name;
        await shop.report(decisionId, { tool, outcome: called ? 'success' : 'failure' });
      }),
    );
  }
  await shop.settled();
}

async function evaluate(shop: Shop, draft: object): Promise<View> {
  const path = `/v1/catalogs/${shop.catalog}/evaluations`;
  const { id } = await service.ask<View>('POST', path, draft);
  let view: View | undefined;
  await until(async () => {
    view = await service.ask<View>('GET', `${path}/${id}`);
    return view.status !== 'queued' && view.status !== 'running';
  });
  return view!;
}

const dr = (view: View, name: string) =>
  view.results.find((result) => result.name === name)!.estimates.find(({ estimator }) => estimator === 'dr')!;

describe('an evaluation', () => {
  it('finds what would have been better, and an experiment starts from it', async () => {
    const shop = await Shop.open(service, 'chance', {
      policy: { name: 'uniform', exploration: 'plackett-luce' },
    });
    await logged(shop, 400);
    const view = await evaluate(shop, {
      candidates: [
        { name: 'meaning', policy: 'cosine' },
        { name: 'soft', policy: { name: 'cosine', exploration: 'plackett-luce', temperature: 0.1 } },
      ],
      grid: { policy: 'sc-linucb', parameters: { alpha: [0.1, 1] } },
    });
    expect(view).toMatchObject({ status: 'done', progress: 1, decisions: 400 });
    expect(view.results).toHaveLength(2 + 2 + 3);
    // Two of ten tools by chance: a fifth. By meaning it is always there.
    for (const name of ['logging', 'uniform']) {
      expect(dr(view, name).value).toBeGreaterThan(0.1);
      expect(dr(view, name).value).toBeLessThan(0.3);
    }
    expect(dr(view, 'meaning').lower).toBeGreaterThan(0.6);
    expect(dr(view, 'meaning').upper).toBeGreaterThan(0.9);
    expect(dr(view, 'soft').value).toBeGreaterThan(0.3);

    const path = '/v1/catalogs/chance/experiments';
    const experiment = await service.ask<{ variants: { policy: { name: string } | null }[] }>('POST', path, {
      name: 'applied',
      unit: 'decision',
      variants: [
        { name: 'now', share: 90 },
        { name: 'winner', share: 10 },
      ],
      applyFromEvaluation: view.id,
    });
    expect(experiment.variants[0].policy).toBeNull();
    const winner = view.candidates.find(({ name }) => name === view.winner);
    expect(experiment.variants[1].policy).toEqual(winner?.policy);
    const none = await service.request('POST', path, {
      name: 'nobody',
      unit: 'decision',
      variants: [{ name: 'now', share: 100 }],
      applyFromEvaluation: view.id,
    });
    expect(none).toMatchObject({ status: 422, body: { code: 'validation-failed' } });
  });

  it('refuses where the log has no answer, and says why', async () => {
    const shop = await Shop.open(service, 'silent');
    expect(await evaluate(shop, { candidates: [{ policy: 'cosine' }] })).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('No decision'),
    });
    await logged(shop, 60, { explore: false });
    const view = await evaluate(shop, { candidates: [{ policy: 'cosine' }] });
    expect(view).toMatchObject({ status: 'refused', reason: expect.stringContaining('no propensities') });
    expect(view.skipped.unexplored).toBe(60);
    await logged(shop, 40);
    expect(await evaluate(shop, { candidates: [{ policy: 'uniform' }] })).toMatchObject({
      status: 'refused',
      decisions: 40,
      reason: expect.stringMatching(/50 are needed|is the limit/),
    });
  });

  it('is listed, cancelled once, and asked for the possible', async () => {
    const path = '/v1/catalogs/chance/evaluations';
    const one = await service.ask<View>('POST', path, {
      grid: { policy: 'sc-linucb', parameters: { alpha: [1, 2, 3, 4] } },
    });
    const two = await service.ask<View>('POST', path, { candidates: [{ policy: 'cosine' }] });
    expect(await service.ask('DELETE', `${path}/${two.id}`)).toMatchObject({ status: 'cancelled' });
    const again = await service.request('DELETE', `${path}/${two.id}`);
    expect(again).toMatchObject({ status: 409, body: { code: 'evaluation-conflict' } });
    const { evaluations } = await service.ask<{ evaluations: View[] }>('GET', path);
    expect(evaluations.map(({ id }) => id).slice(0, 2)).toEqual([two.id, one.id]);
    for (const [draft, code] of [
      [{}, 'validation-failed'],
      [{ candidates: [{ policy: 'nothing' }] }, 'unknown-policy'],
      [{ grid: { policy: 'sc-linucb', parameters: { alhpa: [1] } } }, 'validation-failed'],
      [{ candidates: [{ policy: 'cosine' }, { policy: 'cosine' }] }, 'validation-failed'],
      [
        { grid: { policy: 'sc-linucb', parameters: { alpha: [1, 2, 3, 4, 5], prior: [1, 2, 3, 4, 5] } } },
        'validation-failed',
      ],
    ] as const) {
      expect(await service.request('POST', path, draft)).toMatchObject({ status: 422, body: { code } });
    }
    const unknown = await service.request('GET', `${path}/none`);
    expect(unknown).toMatchObject({ status: 404, body: { code: 'evaluation-not-found' } });
  });
});
