import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileContextStore } from '../../src/context/file-context-store.ts';
import type { StoredItem } from '../../src/context/item.ts';
import { noVectors, packItems, vectorsOf } from '../../src/context/item-record.ts';
import { Seals } from '../../src/context/seals.ts';
import { openServiceKey } from '../../src/context/service-key.ts';
import { createFolder } from '../../src/storage/durable-file.ts';

/**
 * Writes users into the data folder of a service that is not running, each with the same items under a key of their own: the files that putting them
 * would write, without a sync of each.
 *
 * @param vectors as many as items, of unit length
 */
export async function storeUsers(
  dataDir: string,
  catalog: string,
  users: number,
  texts: readonly string[],
  { fingerprint, vectors }: { readonly fingerprint: string; readonly vectors: readonly Float32Array[] },
): Promise<void> {
  await createFolder(dataDir);
  const seals = new Seals((await openServiceKey(new FileContextStore(dataDir), undefined, true))!);
  const items = texts.map((text, n): StoredItem => ({ id: `item-${n}`, store: 'notes', text, putAt: 1 }));
  const made = new Map(texts.map((text, n) => [text, vectors[n]]));
  const none = { items: [], vectors: noVectors(0) };
  const dimensions = vectors[0].length;
  const packed = packItems({ items, vectors: vectorsOf(items, { fingerprint, dimensions }, made, none) });
  for (let n = 0; n < users; n++) {
    const place = seals.placeOf(catalog, `user-${n}`);
    const { key, wrapped } = seals.newKey(place);
    const shard = place.user.slice(0, 2);
    const [keys, own] = [
      join(dataDir, 'keys/catalogs', catalog, shard),
      join(dataDir, 'catalogs', catalog, 'context', shard),
    ];
    for (const folder of [keys, own]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(keys, place.user), wrapped);
    writeFileSync(join(own, `${place.user}.items`), key.seal('items', packed));
  }
}
