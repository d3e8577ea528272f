import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddingsServer, startEmbeddingsServer } from '../models/embeddings-server.ts';
import { writeTinyModel } from '../models/tiny-model.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { metric, Shop } from './shop.ts';

const folder = temporaryFolder();
let server: EmbeddingsServer;
beforeAll(async () => {
  server = await startEmbeddingsServer();
});
const started: RunningService[] = [];
const start: typeof RunningService.start = async (...how) => {
  const service = await RunningService.start(...how);
  started.push(service);
  return service;
};
afterAll(async () => {
  for (const service of started) await service.kill();
  await server.close();
  folder.remove();
});

const endpoint = () => ({
  BANDOLIER_EMBEDDINGS_URL: server.url,
  BANDOLIER_EMBEDDINGS_MODEL: 'letters',
  BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true',
});
const fallbackOf = async (shop: Shop, query: string) => (await shop.route(query)).fallback;

describe('embedders of catalogs', () => {
  it('are chosen per catalog, changed while it runs, and never mixed', async () => {
    const dataDir = join(folder.path, 'choose');
    writeTinyModel(join(dataDir, 'models', 'tiny--model'), { dimensions: 16 });
    const service = await start(dataDir, [], endpoint());
    const shop = await Shop.open(service, 'shop');
    const other = await Shop.open(service, 'other');
    await shop.teach('send a mail', 'refund_payment', 4);
    expect((await shop.greedy('send a mail'))[0]).toBe('refund_payment');

    for (const embedder of ['tiny/model', 'endpoint', 'none', 'bundled', 'tiny/model']) {
      const { settings } = await service.ask<{ settings: { embedder: string } }>('PUT', '/v1/catalogs/shop', {
        embedder,
      });
      expect(settings.embedder).toBe(embedder);
      const slate = await shop.route('send a mail', { k: 10, explore: false });
      expect(slate.fallback).toBeNull();
      // What was learned with the bundled one is there again with it, and only with it.
      expect(slate.tools.every(({ gain }) => gain === 0)).toBe(embedder !== 'bundled');
    }
    expect(
      service.output.match(/what it learned with \\"bundled\\" is kept as sc-linucb-memory@2/g),
    ).toHaveLength(2);
    expect(await fallbackOf(other, 'send a mail')).toBeNull();

    const refused = await service.request('PUT', '/v1/catalogs/shop', { embedder: 'nobody/knows' });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toMatch(/There is no embedder .*nobody\/knows.* models pull/);
    for (const embedder of ['../../etc', 'a/b/c', '']) {
      expect((await service.request('PUT', '/v1/catalogs/new', { embedder })).status).toBe(422);
    }
    expect((await service.request('GET', '/v1/catalogs/new')).status).toBe(404);
    expect(await service.stop()).toBe(0);

    // The folder is gone: this catalog goes by words, the service starts all the same.
    rmSync(join(dataDir, 'models', 'tiny--model'), { recursive: true });
    const again = await start(dataDir, [], endpoint());
    expect(await fallbackOf(new Shop(again, 'shop'), 'send a mail')).toBe('embedder_down');
    expect(await fallbackOf(new Shop(again, 'other'), 'send a mail')).toBeNull();
    expect(await again.stop()).toBe(0);
  });

  it('may be away: words decide until they are back, by themselves', async () => {
    const dataDir = join(folder.path, 'away');
    let service = await start(dataDir, [], { ...endpoint(), BANDOLIER_MODEL: 'endpoint' });
    const shop = await Shop.open(service, 'shop');
    expect(await fallbackOf(shop, 'write a letter')).toBeNull();
    server.misbehave((_, response) => {
      response.statusCode = 500;
      response.end();
    });
    expect(await fallbackOf(shop, 'track my parcel')).toBe('embedder_down');
    const put = await service.request('PATCH', '/v1/catalogs/shop/tools', {
      put: [{ name: 'new_tool', description: 'Does something new.', inputSchema: {} }],
    });
    expect(put.status).toBe(503);
    expect(put.headers.get('retry-after')).not.toBeNull();
    expect(await service.stop()).toBe(0);

    // It starts without its embedder, and takes it up when it is there.
    service = await start(dataDir, [], { ...endpoint(), BANDOLIER_MODEL: 'endpoint' });
    const later = new Shop(service, 'shop');
    expect(await fallbackOf(later, 'track my parcel')).toBe('embedder_down');
    expect(service.output).toMatch(/goes by words alone until its embedding model \\"endpoint\\" is there/);
    server.misbehave(null);
    await until(async () => (await fallbackOf(later, 'track my parcel')) === null);
    // Nothing was lost and nothing embedded again.
    expect(await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' })).toBe(0);
    expect(await service.stop()).toBe(0);
  });

  it('may talk nonsense under a running catalog: words decide, nothing is mixed, nothing is forgotten', async () => {
    const service = await start(join(folder.path, 'nonsense'), [], {
      ...endpoint(),
      BANDOLIER_MODEL: 'endpoint',
    });
    const shop = await Shop.open(service, 'shop');
    await shop.teach('send a mail', 'refund_payment', 4);
    const numbers = (count: number) =>
      JSON.stringify({ data: [{ index: 0, embedding: Array(count).fill(0.1) }] });
    const answers = [numbers(1_024), '{"data":[{"index":0,"embedding":[NaN]}]}', '<!doctype html>', '', '{}'];
    for (const [at, answer] of answers.entries()) {
      server.misbehave((_, response) => response.end(answer));
      expect([answer.slice(0, 40), await fallbackOf(shop, `track parcel ${at}`)]).toEqual([
        answer.slice(0, 40),
        'embedder_down',
      ]);
      const put = await service.request('PATCH', '/v1/catalogs/shop/tools', {
        put: [{ name: 'new_tool', description: `Something new: ${at}.`, inputSchema: {} }],
      });
      expect(put.status).toBe(503);
    }
    server.misbehave(null);
    await until(async () => (await fallbackOf(shop, 'track another parcel')) === null);
    expect((await shop.greedy('send a mail'))[0]).toBe('refund_payment');
    expect(service.output).not.toContain('is kept as');
    expect(await service.stop()).toBe(0);
  });

  it('stay what they are when the service is configured with another one, until somebody moves them', async () => {
    const dataDir = join(folder.path, 'configured');
    let service = await start(dataDir);
    const learned = await Shop.open(service, 'shop');
    await learned.teach('send a mail', 'refund_payment', 4);
    const slate = await learned.greedy('send a mail');
    await service.stop();

    const model = writeTinyModel(join(folder.path, 'configured-model'), { dimensions: 16 });
    service = await start(dataDir, [], { BANDOLIER_MODEL: model });
    expect(service.output).toMatch(/catalog \\"shop\\" keeps its embedding model \\"bundled\\"/);
    expect(service.output).toContain(`bandolier catalogs embedder shop ${model}`);
    let shop = new Shop(service, 'shop');
    expect(await shop.greedy('send a mail')).toEqual(slate);
    const fresh = await shop.configure({});
    expect(fresh.policy.version).toBe('sc-linucb-memory@2');
    expect(await new Shop(service, 'new').configure({})).toMatchObject({ settings: { embedder: model } });

    // The log says what to type; the service takes the name of what it is configured with.
    expect(await shop.configure({ embedder: model })).toMatchObject({
      settings: { embedder: model },
      policy: { version: 'sc-linucb-memory@3' },
    });
    await service.stop();

    // Somebody put another model into its folder: not the one that this was learned with.
    rmSync(model, { recursive: true });
    writeTinyModel(model, { dimensions: 8 });
    service = await start(dataDir, [], { BANDOLIER_MODEL: model });
    expect(service.output).toMatch(/\\"shop\\" goes by words alone until its embedding model/);
    shop = new Shop(service, 'shop');
    expect(await fallbackOf(shop, 'send a mail')).toBe('embedder_down');
    const { checks } = await service.ask<{ checks: { embedder: { detail: string } } }>('GET', '/readyz');
    expect(checks.embedder.detail).toContain('words alone in new, shop');
    const put = await service.request('PATCH', '/v1/catalogs/shop/tools', { remove: ['restock_item'] });
    expect(put.status).toBe(200);

    // Back to what was learned first, by its version; what was removed meanwhile stays away.
    const version = await service.ask('POST', '/v1/catalogs/shop/policies/sc-linucb-memory@2/activate', {});
    expect(version).toMatchObject({ active: true, embedder: 'bundled', waits: false, cases: 1 });
    expect((await shop.greedy('send a mail'))[0]).toBe(slate[0]);
    expect(await service.stop()).toBe(0);
  });
});

it('a definition whose dates alone changed has not changed, where a catalog says so', async () => {
  const service = await start(join(folder.path, 'dates'));
  const put = (day: string) =>
    service.ask('PUT', '/v1/catalogs/dated/tools', {
      tools: [{ name: 'rates', description: `Exchange rates of ${day}.`, inputSchema: {} }],
    });
  await service.ask('PUT', '/v1/catalogs/dated', {});
  expect(await put('2026-11-20')).toMatchObject({ added: 1 });
  expect(await put('2026-11-21')).toMatchObject({ changed: 1, unchanged: 0 });
  await service.ask('PUT', '/v1/catalogs/dated', { ignoreDates: true });
  await put('2026-11-22');
  const embedded = await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' });
  expect(await put('2026-11-23')).toMatchObject({ changed: 0, unchanged: 1 });
  expect(await metric(service, 'bandolier_texts_embedded_total', { kind: 'document' })).toBe(embedded);
  expect(await service.stop()).toBe(0);
});
