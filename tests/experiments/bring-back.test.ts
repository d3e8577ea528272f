import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { bringBack } from '../../src/experiments/bring-back.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { SnapshotStore } from '../../src/snapshots/snapshot-store.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { decision, observe, report, START, Story } from '../state/entries.ts';

function teach(story: Story, times: number): void {
  for (let i = 0; i < times; i++) {
    const id = `d${story.entries.length}`;
    story.tell(observe(decision(id, ['t0']), [report(`r${id}`, 't0')]));
  }
}

function choose(story: Story, alpha: number): void {
  const policy = { ...story.state.settings.policy, name: 'sc-linucb', parameters: { alpha } };
  story.tell({ kind: 'settings', key: `alpha/${alpha}`, at: START, patch: { policy } });
}

/** The story as a catalog; `before` happens just before each entry that is submitted. */
function catalogOf(story: Story, before: (submitted: number) => void): Catalog {
  let submitted = 0;
  return {
    name: 'default',
    state: story.state,
    now: () => START,
    ledger: {
      read: async (after: number, limit: number) =>
        story.entries.slice(after, after + limit).map((entry, i) => ({ position: after + i + 1, entry })),
    },
    replica: {
      submit: async (entry: Entry) => {
        before(submitted++);
        return story.tell(entry);
      },
    },
  } as unknown as Catalog;
}

describe('a version that is not kept any more', () => {
  it('comes back from a snapshot with everything that was observed since', async () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    teach(story, 3);
    const snapshot = { position: story.entries.length, bytes: encodeSnapshot(story.state) };
    for (let alpha = 1; alpha <= 6; alpha++) choose(story, alpha);
    expect(story.state.learners.get(version)).toBeUndefined();
    teach(story, 4);

    // A reward that comes in between is not lost: it starts over.
    const catalog = catalogOf(story, (submitted) => submitted < 2 && teach(story, 1));
    const store = { get: async () => snapshot } as unknown as SnapshotStore;
    await bringBack(catalog, store, { position: snapshot.position, version }, story.kernels);
    expect(story.state.learners.active.version).toBe(version);
    expect(story.state.learners.active.policy.sizeInBytes()).toMatchObject({ updates: 9 });
    expect(story.state.settings.policy.name).toBe('sc-linucb-memory');

    // And it is a version like any other: the next reward teaches it, and a snapshot holds it.
    teach(story, 1);
    expect(story.state.learners.active.policy.sizeInBytes().updates).toBe(10);
    expect(encodeSnapshot(story.state).length).toBeGreaterThan(0);
  });
});
