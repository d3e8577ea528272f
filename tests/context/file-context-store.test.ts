import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FileContextStore } from '../../src/context/file-context-store.ts';
import { contextStoreContract } from '../contracts/context-store.contract.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { contentOf } from './content-of.ts';

const root = temporaryFolder();
const ada = { catalog: 'default', user: 'a'.repeat(32) };

contextStoreContract('FileContextStore', async () => {
  const dataDir = join(root, randomUUID());
  mkdirSync(dataDir);
  return {
    connect: async () => new FileContextStore(dataDir),
    content: async () => contentOf(dataDir),
    dispose: async () => {},
  };
});

it('erases what a crash left unfinished as well', async () => {
  const dataDir = join(root, randomUUID());
  const store = new FileContextStore(dataDir);
  await store.change(ada, async () => ({ key: Buffer.from('key'), items: Buffer.from('songs') }));
  const [keys, items] = [
    join(dataDir, 'keys/catalogs/default/aa', `${ada.user}.1.unfinished`),
    join(dataDir, 'catalogs/default/context/aa', `${ada.user}.items.1.unfinished`),
  ];
  for (const file of [keys, items]) writeFileSync(file, 'half of ada');
  await store.beginErasure(ada, '');
  await store.finishErasure(ada);
  expect(contentOf(dataDir).toString()).not.toContain('a'.repeat(32));
});

it('removes what a crash left unfinished, and nothing that is being written', async () => {
  const dataDir = join(root, randomUUID());
  const store = new FileContextStore(dataDir);
  const change = { key: Buffer.from('key'), items: Buffer.from('songs') };
  await store.createServiceKey(Buffer.from('service key'));
  await store.change(ada, async () => change);
  const bob = { catalog: 'default', user: `aa${'b'.repeat(30)}` };
  await store.beginErasure(bob, '');
  await store.writeSweep('default', Buffer.from('progress'));
  const kept = contentOf(dataDir).toString();
  const left = [
    'keys/service.1',
    `keys/catalogs/default/aa/${ada.user}.1`,
    `keys/catalogs/default/erasing/${bob.user}.1`,
    `catalogs/default/context/aa/${ada.user}.items.1`,
    // Of a user whose first write broke off.
    `catalogs/default/context/aa/${'ab'.repeat(16)}.items.1`,
    'catalogs/default/context/sweep.1',
  ].map((name) => join(dataDir, `${name}.unfinished`));
  for (const file of left) writeFileSync(file, 'half of it');
  const cleaning = store.removeUnfinished('default');
  const changes = Array.from({ length: 20 }, (_, n) =>
    store.change(ada, async () => ({ items: Buffer.from(n === 19 ? 'songs' : `songs ${n}`) })),
  );
  await Promise.all([cleaning, ...changes]);
  expect(contentOf(dataDir).toString()).toBe(kept);
  await store.removeUnfinished('a-catalog-without-users');
});

it('keeps nothing outside its folders, whatever a user or a catalog is called', async () => {
  const store = new FileContextStore(join(root, randomUUID()));
  const change = async () => ({ key: Buffer.from('key') });
  await expect(store.change({ ...ada, user: '../../../x' }, change)).rejects.toThrow(RangeError);
  await expect(store.change({ ...ada, catalog: '../x' }, change)).rejects.toThrow(RangeError);
  await expect(store.remove('..')).rejects.toThrow(RangeError);
});
