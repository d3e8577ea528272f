import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writeTinyPairModel } from '../models/tiny-model.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService | null = null;
afterAll(async () => {
  await service?.kill();
  folder.remove();
});

it('a reranker changes the order within its time, and the decision says when it did not', async () => {
  const model = 'tiny--pairs';
  writeTinyPairModel(join(folder.path, 'models', model), { weather: 50, now: 50, file: -50 });
  service = await RunningService.start(folder.path);
  const shop = await Shop.open(service, 'shop');
  await service.ask('PATCH', '/v1/catalogs/shop/tools', {
    put: [
      { name: 'aaa', description: 'parcel file file file', inputSchema: {} },
      { name: 'bbb', description: 'parcel weather now', inputSchema: {} },
    ],
  });
  const first = async () => {
    const { tools, decisionId } = await shop.route('parcel file', { k: 10, explore: false });
    const { rerank } = await service!.ask<{ rerank?: unknown }>('GET', `/v1/decisions/${decisionId}`);
    return { names: tools.map(({ name }) => name), rerank };
  };
  const without = await first();
  expect(without.rerank).toBeUndefined();
  expect(without.names.indexOf('aaa')).toBeLessThan(without.names.indexOf('bbb'));

  const configured = { model: 'tiny/pairs', budgetMs: 10_000 };
  await service.ask('PUT', '/v1/catalogs/shop', { reranker: configured });
  const closer = await first();
  expect(closer.rerank).toEqual({ by: 'tiny/pairs', fallback: null });
  expect(closer.names.indexOf('bbb')).toBeLessThan(closer.names.indexOf('aaa'));

  const refused = await service.request('PUT', '/v1/catalogs/shop', {
    reranker: { model: 'no/such', budgetMs: 10 },
  });
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body)).toMatch(/There is no reranker/);

  await service.ask('PUT', '/v1/catalogs/shop', { reranker: null });
  expect((await first()).names).toEqual(without.names);
  expect(await service.stop()).toBe(0);
});
