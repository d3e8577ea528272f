import { expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { addMissingJobs } from '../../src/merging/schedule-runs.ts';
import type { Job } from '../../src/queue/job-queue.ts';
import { START, Story } from '../state/entries.ts';

it('a catalog whose job cannot be added keeps no other from getting one, and is told of', async () => {
  const catalogs = ['a', 'b', 'c'].map((name) => {
    const story = Story.withTools(2);
    const request = { judge: 'rules', threshold: null, autoApprove: null, touched: 'changed' } as const;
    story.tell({ kind: 'merge-run', key: 'run', at: START, change: { action: 'ask', request } });
    return { name, state: story.state } as unknown as Catalog;
  });
  const added: string[] = [];
  const add = async ([{ id }]: readonly Job[]): Promise<void> => {
    if (id.endsWith('/a')) throw new Error('the queue took none');
    added.push(id);
  };
  await expect(addMissingJobs({ catalogs: { all: () => catalogs }, queue: { add } })).rejects.toThrow(
    'the queue took none',
  );
  expect(added).toEqual(['merge-run/b', 'merge-run/c']);
});
