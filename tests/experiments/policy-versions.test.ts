import { expect, it } from 'vitest';
import { PolicyVersions } from '../../src/experiments/policy-versions.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { Story } from '../state/entries.ts';

it('snapshots are not read any further when the caller has given up', async () => {
  const { state, kernels } = Story.withTools(2);
  const client = new AbortController();
  const read: number[] = [];
  const store = {
    list: async () => [3, 2, 1],
    get: async (position: number) => {
      read.push(position);
      client.abort(new Error('gone'));
      return { position, bytes: encodeSnapshot(state) };
    },
  };
  const catalogs = {
    holding: async (name: string, work: (catalog: object) => unknown) => work({ name, state }),
  };
  const versions = new PolicyVersions(catalogs as never, { open: async () => store } as never, kernels);
  await expect(versions.snapshots('default', client.signal)).rejects.toThrow('gone');
  expect(read).toEqual([3]);
});
