import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
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

const QUERY = 'give the customer their money back';

interface Report {
  readonly status: string;
  readonly variants: readonly Record<string, number | string | null>[];
  readonly srm: { readonly pValue: number; readonly ok: boolean };
  readonly differences: readonly Record<string, number | string | null>[];
  readonly decision: boolean | null;
  readonly reason: string;
  readonly winner: string | null;
  readonly withoutUnit: number;
}

/** A catalog with one experiment: chance against what the descriptions say. */
class Trial {
  readonly shop: Shop;
  readonly path: string;

  constructor(shop: Shop) {
    this.shop = shop;
    this.path = `/v1/catalogs/${shop.catalog}/experiments`;
  }

  static async open(catalog: string, more: object = {}): Promise<Trial> {
    const trial = new Trial(await Shop.open(service, catalog));
    await service.ask('POST', trial.path, {
      name: 'trial',
      catalog,
      unit: 'sessionId',
      variants: [
        { name: 'chance', share: 50, policy: 'uniform' },
        { name: 'meaning', share: 50, policy: { name: 'cosine' } },
      ],
      ...more,
    });
    return trial;
  }

  move(action: string, body?: object): Promise<Record<string, unknown>> {
    return service.ask('POST', `${this.path}/trial/${action}`, body);
  }

  refusal(action: string, body?: object) {
    return service.request('POST', `${this.path}/trial/${action}`, body);
  }

  report(): Promise<Report> {
    return service.ask('GET', `${this.path}/trial/report`);
  }

  /** One decision of a session, rewarded if it brought the right tool first. */
  async visit(sessionId: string, more: object = {}): Promise<string | undefined> {
    const { decisionId, tools, policy } = await this.shop.route(QUERY, { sessionId, k: 1, ...more });
    const outcome = tools[0].name === 'refund_payment' ? 'success' : 'failure';
    await this.shop.report(decisionId, { tool: tools[0].name, outcome, latencyMs: 5 });
    return policy.variant;
  }

  async visits(from: number, to: number, more: object = {}): Promise<(string | undefined)[]> {
    const seen: (string | undefined)[] = [];
    for (let session = from; session < to; session += 20) {
      const some = Array.from({ length: Math.min(20, to - session) }, (_, i) => `s${session + i}`);
      seen.push(...(await Promise.all(some.map((id) => this.visit(id, more)))));
    }
    await this.shop.settled();
    return seen;
  }
}

describe('an experiment', () => {
  it('is created, started, decided by its traffic, promoted and rolled back', async () => {
    const trial = await Trial.open('whole-way');
    const { body: active } = await service.request<{ policies: { version: string }[] }>(
      'GET',
      '/v1/catalogs/whole-way/policies',
    );
    const champion = active.policies[0].version;
    expect((await trial.shop.route(QUERY, { sessionId: 's0' })).policy.variant).toBeUndefined();
    expect(await trial.report()).toMatchObject({ status: 'draft', decision: null });

    expect(await trial.move('start', { actor: 'ada' })).toMatchObject({ status: 'running' });
    const first = await trial.visits(0, 240);
    const again = await trial.visits(0, 60);
    expect(again).toEqual(first.slice(0, 60));
    await trial.shop.route(QUERY);

    const report = await trial.report();
    const [chance, meaning] = report.variants;
    expect(Number(chance.units) + Number(meaning.units)).toBe(240);
    expect(Number(chance.decisions) + Number(meaning.decisions)).toBe(300);
    expect(chance).toMatchObject({ name: 'chance', exposures: chance.decisions, rewards: chance.decisions });
    expect(meaning).toMatchObject({ successRate: 1, meanReward: 1, latencyMs: 5 });
    expect(Number(chance.successRate)).toBeLessThan(0.4);
    expect(report).toMatchObject({ srm: { ok: true }, decision: true, winner: 'meaning', withoutUnit: 1 });
    // The same tool every time: the tokens of its definition.
    const shown = SHOP_TOOLS.find(({ name }) => name === 'refund_payment');
    expect(meaning.tokens).toBe(ESTIMATE.count(JSON.stringify(shown)));
    expect(Number(chance.tokens)).toBeGreaterThan(10);
    const difference = report.differences.find(({ metric }) => metric === 'reward');
    expect(difference).toMatchObject({ variant: 'meaning', against: 'chance' });
    expect(Number(difference?.lower)).toBeGreaterThan(0.3);

    expect(await trial.move('promote')).toMatchObject({ status: 'promoted', promoted: 'meaning' });
    const served = await trial.shop.route(QUERY, { sessionId: 's0', k: 1 });
    expect(served).toMatchObject({ policy: { name: 'cosine' }, tools: [{ name: 'refund_payment' }] });
    expect(served.policy.variant).toBeUndefined();
    expect(await trial.refusal('promote')).toMatchObject({
      status: 409,
      body: { code: 'experiment-conflict' },
    });

    // What the units taught is in the version that was not in use meanwhile.
    const path = `/v1/catalogs/whole-way/policies/${champion}`;
    expect(await service.ask('GET', path)).toMatchObject({ active: false, updates: 300 });
    await trial.shop.teach('lost parcel', 'track_parcel', 3);
    expect(await service.ask('POST', `${path}/activate`)).toMatchObject({ active: true });
    const rolledBack = await trial.shop.route('lost parcel', { k: 1, explore: false });
    expect(rolledBack).toMatchObject({ policy: { version: champion }, tools: [{ name: 'track_parcel' }] });
    const { candidates } = await trial.shop.explain(rolledBack.decisionId);
    expect(candidates[0].trials).toBeGreaterThanOrEqual(3);

    const { history } = await service.ask<{ history: { action: string; actor: string | null }[] }>(
      'GET',
      `${trial.path}/trial`,
    );
    expect(history.map(({ action }) => action)).toEqual(['create', 'start', 'promote']);
    expect(history[1].actor).toBe('ada');
  });

  it('survives a restart with its counts and its assignment', async () => {
    const trial = await Trial.open('restart');
    await trial.move('start');
    const before = await trial.visits(0, 60);
    const counted = (await trial.report()).variants;
    await service.stop('SIGTERM');
    service = await RunningService.start(folder.path);
    const after = new Trial(new Shop(service, 'restart'));
    expect((await after.report()).variants).toEqual(counted);
    expect(await after.visits(0, 60)).toEqual(before);
  });

  it('moves as few units as possible when its shares change', async () => {
    const trial = await Trial.open('shares', {
      variants: [
        { name: 'chance', share: 90, policy: 'uniform' },
        { name: 'meaning', share: 10, policy: 'cosine' },
      ],
    });
    await trial.move('start');
    const before = await trial.visits(0, 100);
    expect(await trial.move('shares', { shares: { chance: 50, meaning: 50 } })).toMatchObject({
      movedPercent: 40,
    });
    const after = await trial.visits(0, 100);
    expect(after.filter((variant, i) => variant === 'chance' && before[i] === 'meaning')).toEqual([]);
    expect((await trial.report()).srm.ok).toBe(true);
  });

  it('counts what was shown, not what was decided', async () => {
    const trial = await Trial.open('activation');
    await trial.move('start');
    const later = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        trial.shop.route(QUERY, { sessionId: `s${i}`, activate: 'later' }),
      ),
    );
    for (const { decisionId } of later.slice(0, 4)) {
      await service.ask('POST', `/v1/decisions/${decisionId}/activate`);
      await service.ask('POST', `/v1/decisions/${decisionId}/activate`);
    }
    const { variants } = await trial.report();
    const sum = (key: string) => variants.reduce((total, variant) => total + Number(variant[key]), 0);
    expect([sum('decisions'), sum('exposures'), sum('units')]).toEqual([10, 4, 4]);
  });

  it('goes to those whose context fits', async () => {
    const trial = await Trial.open('target', { target: { plan: ['free', 'trial'] } });
    await trial.move('start');
    const variantFor = async (context?: object) =>
      (await trial.shop.route(QUERY, { sessionId: 's1', ...(context && { context }) })).policy.variant;
    expect(await variantFor()).toBeUndefined();
    expect(await variantFor({ plan: 'paid' })).toBeUndefined();
    expect(await variantFor({ plan: 'trial', seats: 3 })).toBeDefined();
  });

  it('falls back to retrieval order in one call', async () => {
    const trial = await Trial.open('kill');
    await trial.move('start');
    await trial.move('kill', { variant: 'chance' });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => trial.shop.route(QUERY, { sessionId: `s${i}` })),
    );
    for (const { policy, fallback } of answers) {
      expect(fallback).toBe(policy.variant === 'chance' ? 'kill_switch' : null);
    }
  });
});
