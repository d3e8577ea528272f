import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeTinyModel, writeTinyPairModel } from '../models/tiny-model.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const models = join(dataDir, 'models');
let service: RunningService;

beforeAll(async () => {
  writeTinyModel(join(models, 'tiny--mails'), { dimensions: 16 });
  writeTinyPairModel(join(models, 'tiny--pairs'), { mail: 1 });
  rmSync(join(writeTinyModel(join(models, 'broken--no-tokenizer')), 'tokenizer.json'));
  truncateSync(join(writeTinyModel(join(models, 'broken--cut')), 'model.onnx'), 200);
  writeTinyModel(join(models, 'broken--shape'), { outputName: 'pooled' });
  mkdirSync(join(models, 'broken--page'));
  for (const file of ['model.onnx', 'tokenizer.json'])
    writeFileSync(join(models, 'broken--page', file), '<html>');
  service = await RunningService.start(dataDir);
});
afterAll(async () => {
  await service.stop();
  folder.remove();
});

const run = (...words: string[]) => bandolier('models', ...words);

async function bandolier(...words: string[]) {
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: cleanEnvironment({}),
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}
const here = ['--data-dir', dataDir];

describe('bandolier models', () => {
  it('lists what there is and says what each is', async () => {
    const { code, output } = await run('list', ...here);
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^default.*^bundled.*^none.*^endpoint.*^tiny\/mails/ms),
    ]);
    expect(await run('check', 'tiny/mails', ...here)).toMatchObject({
      code: 0,
      output: expect.stringContaining('an embedding model with 16 dimensions'),
    });
    expect(await run('check', 'tiny/pairs', ...here)).toMatchObject({
      code: 0,
      output: expect.stringContaining('tiny/pairs: a reranker.'),
    });
  });

  it.each([
    ['broken/no-tokenizer', /tokenizer\.json cannot be read/],
    ['broken/cut', /no ONNX model that can be loaded .*cut short/],
    ['broken/shape', /needed is a float32 output sentence_embedding/],
    ['broken/page', /model\.onnx|tokenizer\.json/],
    ['nobody/knows', /There is no embedder "nobody\/knows"/],
  ])(
    'explains what is wrong with %s, to whoever checks it and to whoever wants to use it',
    async (name, message) => {
      const checked = await run('check', name, ...here);
      expect([checked.code, checked.output]).toEqual([1, expect.stringMatching(message)]);
      const used = await bandolier('catalogs', 'embedder', 'default', name, '--url', service.url);
      expect([used.code, used.output]).toEqual([1, expect.stringMatching(message)]);
      const { settings } = await service.ask<{ settings: object }>('GET', '/v1/catalogs/default');
      expect(settings).toMatchObject({ embedder: 'bundled' });
      expect(service.isAlive).toBe(true);
    },
  );

  it('lets a catalog use one, and keeps what it learned with the one before', async () => {
    const shop = await Shop.open(service, 'shop');
    await shop.teach('send a mail', 'refund_payment', 4);
    const slate = await shop.greedy('send a mail');
    expect(slate[0]).toBe('refund_payment');
    const catalogs = (...words: string[]) => bandolier('catalogs', ...words, '--url', service.url);
    expect(await catalogs('embedder', 'shop', 'tiny/mails')).toEqual({
      code: 0,
      output: expect.stringMatching(
        /uses tiny\/mails, with sc-linucb-memory@3\.\nWhat it learned with bundled is kept as sc-linucb-memory@2: bandolier catalogs embedder shop bundled\n/,
      ),
    });
    expect(await catalogs('reranker', 'shop', 'tiny/pairs', '500')).toMatchObject({ code: 0 });
    const { settings } = await service.ask<{ settings: object }>('GET', '/v1/catalogs/shop');
    expect(settings).toMatchObject({
      embedder: 'tiny/mails',
      reranker: { model: 'tiny/pairs', budgetMs: 500 },
    });
    expect((await catalogs('list')).output).toMatch(/^shop +10 +sc-linucb-memory@3 +tiny\/mails$/m);
    await service.ask('PUT', '/v1/catalogs/shop', { reranker: null });
    expect(await catalogs('embedder', 'shop', 'bundled')).toMatchObject({ code: 0 });
    expect(await shop.greedy('send a mail')).toEqual(slate);
    expect(await catalogs('embedder', 'shpo', 'bundled')).toMatchObject({
      code: 1,
      output: expect.stringContaining('There is no catalog "shpo"'),
    });
  });
});
