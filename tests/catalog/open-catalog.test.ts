import { expect, it } from 'vitest';
import type { Embedders } from '../../src/catalog/embedders.ts';
import { openCatalog } from '../../src/catalog/open-catalog.ts';
import type { BoundEmbedder } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { putTools, START, Story, tool } from '../state/entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

it.each([
  ['an entry that cannot be folded', 'none-such', () => Promise.resolve({})],
  ['a model that is of no use', 'sc-linucb', () => Promise.reject(new Error('of no use'))],
])('a catalog that cannot be opened because of %s gives its memory back', async (_, policy, find) => {
  const folder = temporaryFolder();
  const story = Story.withTools(3);
  const { position } = story.state;
  await (await new FileSnapshotStores(folder).open('default')).put(
    { position, bytes: encodeSnapshot(story.state) },
    1,
    1,
  );
  const ledgers = new FileLedgers(folder);
  const ledger = await ledgers.open('default');
  await ledger.append([...story.entries, putTools([tool('late')])]);
  const settings = { name: policy, parameters: {}, exploration: 'greedy', temperature: 1 } as const;
  await ledger.append([{ kind: 'settings', key: 's', at: START, patch: { policy: settings } }]);
  await ledger.close();

  const kernels = createTypescriptKernels();
  const never = (): void => undefined;
  const opening = openCatalog('default', true, {
    ledgers,
    snapshots: new FileSnapshotStores(folder),
    kernels,
    embedders: { nameOf: (name: string) => name, find } as unknown as Embedders,
    createVectorIndex: (own, vectors) => new ExactIndex(own, vectors),
    clock: { now: () => START, notice: never },
    steadyNow: () => performance.now(),
    ...{ onFold: never, onReload: never, onNotice: never, onError: never },
  });
  await expect(opening).rejects.toThrow(/none-such|of no use/);
  expect(kernels.allocatedBytes).toBe(0);
  await (await ledgers.open('default')).close();
});

it('the model that another process moved the catalog to meanwhile is opened, too', async () => {
  const folder = temporaryFolder();
  const ledgers = new FileLedgers(folder);
  const ledger = await ledgers.open('default');
  const moveTo = (model: string): Promise<unknown> =>
    ledger.append([
      { kind: 'embedder', key: model, at: START, model, fingerprint: model, dimensions: 2, vectors: [] },
    ]);
  await moveTo('first');
  const open = new Set<string>();
  let folded = (): void => undefined;
  const moved = new Promise<void>((resolve) => {
    folded = resolve;
  });
  const find = async ({ fingerprint }: BoundEmbedder): Promise<unknown> => {
    if (fingerprint === 'first') {
      await moveTo('second');
      await moved;
    }
    open.add(fingerprint as string);
    return { model: fingerprint };
  };
  const never = (): void => undefined;
  const catalog = await openCatalog('default', true, {
    ledgers: { open: async () => ledger } as unknown as FileLedgers,
    snapshots: new FileSnapshotStores(folder),
    kernels: createTypescriptKernels(),
    embedders: {
      nameOf: (name: string) => name,
      find,
      of: (fingerprint: string) => (open.has(fingerprint) ? {} : null),
    } as unknown as Embedders,
    createVectorIndex: (own, vectors) => new ExactIndex(own, vectors),
    clock: { now: () => START, notice: never },
    steadyNow: () => performance.now(),
    onFold: (_, { entry }) => {
      if (entry.key === 'second') folded();
    },
    ...{ onReload: never, onNotice: never, onError: never },
  });
  await expect.poll(() => catalog.embedderDown).toBe(false);
  await catalog.close();
});
