import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
