import { describe, expect, it } from 'vitest';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import { Experiments } from '../../src/experiments/experiments.ts';
import type { ExposureRecorder } from '../../src/experiments/exposure-recorder.ts';
import { PolicyVersions } from '../../src/experiments/policy-versions.ts';
import type { SnapshotStores } from '../../src/snapshots/snapshot-store.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { START, Story } from '../state/entries.ts';
import { answer, create, move } from '../state/experiment-entries.ts';
import { ReplacedState } from '../state/replaced-state.ts';

function catalogsOf(catalog: object): Catalogs {
  const holding = async (_name: string, work: (open: object) => unknown) => work(catalog);
  return { get: () => catalog, holding } as unknown as Catalogs;
}

/** A catalog whose state is replaced by that of `later` as soon as something is awaited. */
function reloading(first: Story, later: Story) {
  const replaced = new ReplacedState(first.state, later.state);
  const replace = async (): Promise<void> => replaced.replace();
  const catalog = {
    name: 'default',
    get state() {
      return replaced.state;
    },
    replica: { caughtUp: replace },
  };
  return { catalogs: catalogsOf(catalog), replace };
}

describe('what was awaited is answered from the state of afterwards', () => {
  it('reports of experiments', async () => {
    const stories = [Story.withTools(2), Story.withTools(2)];
    for (const story of stories) answer(story, create());
    move(stories[1], { action: 'start' });
    const { catalogs } = reloading(stories[0], stories[1]);
    const recorder = { flush: async () => undefined } as unknown as ExposureRecorder;
    const { status } = await new Experiments(catalogs, recorder).report('default', 'trial');
    expect(status).toBe('running');
  });

  it('lists of snapshots', async () => {
    const [first, later] = [Story.withTools(2), Story.withTools(2)];
    const policy = { ...later.state.settings.policy, name: 'sc-linucb' };
    later.tell({ kind: 'settings', key: 's', at: START, patch: { policy } });
    const { catalogs, replace } = reloading(first, later);
    const store = {
      list: async () => [3],
      get: async () => {
        await replace();
        return { position: 3, bytes: encodeSnapshot(later.state) };
      },
    };
    const versions = new PolicyVersions(
      catalogs,
      { open: async () => store } as unknown as SnapshotStores,
      first.kernels,
    );
    expect(await versions.snapshots('default')).toMatchObject([{ version: 'sc-linucb@3', kept: true }]);
  });
});
