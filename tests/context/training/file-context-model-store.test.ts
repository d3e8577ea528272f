import { randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { shippedContextRanker } from '../../../src/context/shipped-ranker.ts';
import { ContextModels } from '../../../src/context/training/context-models.ts';
import { FileContextModelStore } from '../../../src/context/training/file-context-model-store.ts';
import { contextModelStoreContract } from '../../contracts/context-model-store.contract.ts';
import { temporaryFolder } from '../../storage/temporary-folder.ts';

const root = temporaryFolder();

contextModelStoreContract('FileContextModelStore', async () => {
  const dataDir = join(root, randomUUID());
  return { connect: async () => new FileContextModelStore(dataDir), dispose: async () => {} };
});

it('refuses a training of another version by name', async () => {
  const dataDir = join(root, randomUUID());
  const folder = join(dataDir, 'catalogs', 'default', 'context-model');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'training.json'), '{"version": 9}');
  await expect(new FileContextModelStore(dataDir).training('default')).rejects.toThrow(
    'stored in format 9, and this version of Bandolier reads format 1',
  );
});

it('is taken up by running routers; one of another version is refused by name, and the shipped one used', async () => {
  const shipped = await shippedContextRanker();
  const store = new FileContextModelStore(join(root, randomUUID()));
  const errors: string[] = [];
  const models = new ContextModels({
    ...{ store, shipped, catalogs: { all: () => [{ name: 'default' }, { name: 'other' }] } },
    onError: (_, error) => errors.push((error as Error).message),
  });
  await models.look();
  expect(models.rankerOf('default')).toBe(shipped);
  await store.putModel('default', shipped.encode());
  await models.look();
  const own = models.rankerOf('default');
  expect([own === shipped, own.trees.size]).toEqual([false, shipped.trees.size]);
  expect(models.rankerOf('other')).toBe(shipped);
  await models.look();
  expect(models.rankerOf('default')).toBe(own);
  const bytes = Buffer.from(shipped.encode());
  bytes.writeUInt32LE(7, 4);
  await store.putModel('default', bytes);
  await models.look();
  await models.look();
  expect(models.rankerOf('default')).toBe(shipped);
  expect(errors).toEqual([expect.stringContaining('version 7')]);
  await store.putModel('default', shipped.encode());
  await models.look();
  await store.putModel('default', null);
  await models.look();
  expect(models.rankerOf('default')).toBe(shipped);
  await models.close();
});

it('is refused where it was trained with another embedder, and the shipped one used', async () => {
  const shipped = await shippedContextRanker();
  const store = new FileContextModelStore(join(root, randomUUID()));
  const errors: string[] = [];
  const models = new ContextModels({
    ...{ store, shipped, catalogs: { all: () => [{ name: 'default' }] } },
    onError: (_, error) => errors.push((error as Error).message),
  });
  await store.putModel('default', new ContextRanker(shipped.trees, shipped.map, 'another').encode());
  await models.look();
  await models.look();
  expect(models.rankerOf('default')).toBe(shipped);
  expect(errors).toEqual([expect.stringContaining('trained with embedder "another"')]);
  await models.close();
});

it('goes on where it cannot be read for a while, which is reported once, and holds up no other catalog', async () => {
  const shipped = await shippedContextRanker();
  const dataDir = join(root, randomUUID());
  const store = new FileContextModelStore(dataDir);
  const errors: string[] = [];
  const models = new ContextModels({
    ...{ store, shipped, catalogs: { all: () => [{ name: 'default' }, { name: 'other' }] } },
    onError: (message, error) => errors.push(`${message}: ${(error as Error).message}`),
  });
  await store.putModel('default', shipped.encode());
  await models.look();
  const own = models.rankerOf('default');
  // A folder in the place of the file.
  const file = join(dataDir, 'catalogs', 'default', 'context-model', 'model.bin');
  rmSync(file);
  mkdirSync(file);
  await store.putModel('other', shipped.encode());
  await models.look();
  await models.look();
  expect(errors).toEqual([expect.stringMatching(/"default" cannot be read, which is tried again: EISDIR/)]);
  expect(models.rankerOf('default')).toBe(own);
  expect(models.rankerOf('other')).not.toBe(shipped);
  rmdirSync(file);
  await store.putModel('default', shipped.encode());
  await models.look();
  expect(models.rankerOf('default')).not.toBe(own);
  const away = Object.assign(new Error('away'), { retryAfterSeconds: 1 });
  vi.spyOn(store, 'modelVersion').mockRejectedValue(away);
  await models.look();
  expect(errors).toHaveLength(1);
  await models.close();
});
