import { expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import { ItemEmbedding } from '../../src/context/item-embedding.ts';
import { noVectors } from '../../src/context/item-record.ts';
import type { OpenUser, OpenUsers } from '../../src/context/open-users.ts';

const catalog = { name: 'default', embedder: { fingerprint: 'e' } } as Catalog;
const user = (name: number) =>
  ({ place: { catalog: 'default', user: String(name) }, vectors: noVectors(1) }) as OpenUser;

/** Of users whose vectors are made when it is said, the names. */
function embedding() {
  const made: string[] = [];
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const users = {
    change: async ({ user }: { user: string }) => {
      await begun;
      made.push(user);
    },
  } as unknown as OpenUsers;
  const catalogs = { find: () => catalog } as unknown as Catalogs;
  const onError = (_: string, error: unknown): void => {
    throw error;
  };
  return { items: new ItemEmbedding({ catalogs, onError }, users), made, begin };
}

it('makes the vectors of a thousand users who wait, and of the others when they are looked at again', async () => {
  const { items, made, begin } = embedding();
  // The first one does not wait.
  for (let name = 0; name < 1_100; name++) items.look(catalog, user(name));
  begin();
  await items.idle();
  expect([made.length, made.at(-1)]).toEqual([1_001, '1000']);
  items.look(catalog, user(1_001));
  await items.idle();
  expect(made.at(-1)).toBe('1001');
});

it('makes none any more when it is closed', async () => {
  const { items, made, begin } = embedding();
  items.look(catalog, user(0));
  items.look(catalog, user(1));
  begin();
  await items.close();
  items.look(catalog, user(2));
  await items.idle();
  expect(made).toEqual(['0']);
});
