import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { shippedContextRanker } from '../../src/context/shipped-ranker.ts';
import {
  type ContextModelStore,
  type StoredTraining,
  TRAINING_FORMAT,
} from '../../src/context/training/context-model-store.ts';
import { ContextModels } from '../../src/context/training/context-models.ts';

/** One place in which models of context are kept. */
export interface ContextModelPlace {
  /** Connects to it, as a starting process does. */
  connect(): Promise<ContextModelStore>;
  dispose(): Promise<void>;
}

/** What every implementation of `ContextModelStore` keeps. `createPlace` makes an empty one. */
export function contextModelStoreContract(name: string, createPlace: () => Promise<ContextModelPlace>): void {
  describe(`${name} as a store of models of context`, () => {
    let place: ContextModelPlace;
    const start = async (): Promise<ContextModelStore> => {
      place = await createPlace();
      return place.connect();
    };
    afterEach(() => place.dispose());
    const ended = (stored: StoredTraining): StoredTraining => ({
      ...stored,
      training: { ...stored.training, status: 'done', endedAt: stored.training.createdAt },
    });

    it('is empty at first', async () => {
      const store = await start();
      expect(await store.training('default')).toBeNull();
      expect(await store.modelVersion('default')).toBeNull();
      expect(await store.model('default')).toBeNull();
      expect(await store.putModel('default', null)).toBe(false);
      expect(await store.save(training())).toBe(false);
      await store.remove('default');
    });

    it('keeps one training that is under way, of several that begin at once', async () => {
      const store = await start();
      const all = [training(), training(), training()];
      const begun = await Promise.all(all.map((one) => store.begin(one)));
      expect(new Set(begun.map(({ training: { id } }) => id)).size).toBe(1);
      const [kept] = begun;
      const other = all.find(({ training: { id } }) => id !== kept.training.id)!;
      const further = { ...kept, interruptions: 1, training: { ...kept.training, progress: 0.5 } };
      expect(await store.save(further)).toBe(true);
      expect(await store.save(other)).toBe(false);
      expect(await (await place.connect()).training('default')).toEqual(further);
      expect(await store.save(ended(further))).toBe(true);
      expect(await store.save(further)).toBe(false);
      expect(await store.begin(other)).toEqual(other);
      expect(await store.training('default')).toEqual(other);
    });

    it('replaces the model whole, with another version each time, and removes it', async () => {
      const store = await start();
      const model = Buffer.from([0, 255, 10, 13, 128]);
      expect(await store.putModel('default', model)).toBe(false);
      const reader = await place.connect();
      const version = await reader.modelVersion('default');
      expect(await reader.model('default')).toEqual(model);
      expect(await store.putModel('default', Buffer.from('another'))).toBe(true);
      expect(await reader.modelVersion('default')).not.toBe(version);
      expect(await reader.model('default')).toEqual(Buffer.from('another'));
      expect(await reader.putModel('default', null)).toBe(true);
      expect(await store.modelVersion('default')).toBeNull();
      expect(await store.model('default')).toBeNull();
    });

    it("has a router take up the model that was trained on another one, and the package's when it is taken back", async () => {
      const [store, other] = [await start(), await place.connect()];
      const shipped = await shippedContextRanker();
      const [here, there] = [store, other].map(
        (store) =>
          new ContextModels({
            ...{ store, shipped, catalogs: { all: () => [{ name: 'default' }] } },
            onError: (_, error) => {
              throw error;
            },
          }),
      );
      await there.look();
      await store.putModel('default', shipped.encode());
      await Promise.all([here.look(), there.look()]);
      const first = there.rankerOf('default');
      expect(first).not.toBe(shipped);
      expect(first.encode()).toEqual(here.rankerOf('default').encode());
      await other.putModel('default', shipped.encode());
      await there.look();
      expect(there.rankerOf('default')).not.toBe(first);
      await store.putModel('default', null);
      await there.look();
      expect(there.rankerOf('default')).toBe(shipped);
      await Promise.all([here.close(), there.close()]);
    });

    it('deletes both with the catalog, and nothing of another one', async () => {
      const store = await start();
      await store.begin(training());
      await store.begin(training('other'));
      await store.putModel('default', Buffer.from('model'));
      await store.putModel('other', Buffer.from('model'));
      await store.remove('default');
      await store.remove('default');
      expect([await store.training('default'), await store.model('default')]).toEqual([null, null]);
      expect(await store.training('other')).not.toBeNull();
      expect(await store.model('other')).toEqual(Buffer.from('model'));
    });
  });
}

function training(catalog = 'default'): StoredTraining {
  return {
    version: TRAINING_FORMAT,
    training: {
      ...{
        id: randomUUID(),
        catalog,
        status: 'queued',
        createdAt: '2026-01-01T00:00:00.000Z',
        endedAt: null,
      },
      ...{ progress: 0, examples: 0, users: 0, telling: 0, result: null, replaced: false, reason: null },
    },
    interruptions: 0,
  };
}
