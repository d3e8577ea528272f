import { describe, expect, it } from 'vitest';
import type { MergeRunChange, MergeRunRequest } from '../../src/ledger/merge-run.ts';
import type { MergeRunResult } from '../../src/state/fold-result.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { putTools, START, Story, tool } from './entries.ts';

const REQUEST: MergeRunRequest = { judge: 'rules', threshold: null, autoApprove: null, touched: 'changed' };

let keys = 0;
const say = (story: Story, change: MergeRunChange, key = `said/${keys++}`) =>
  story.tell({ kind: 'merge-run', key, at: START, change }) as MergeRunResult;

function ask(story: Story, request = REQUEST): string {
  const asked = say(story, { action: 'ask', request });
  if (asked.kind !== 'merge-run') throw new Error('it was refused');
  return asked.run.id;
}

function begin(story: Story, run: string) {
  const begun = say(story, { action: 'begin', run });
  return begun.kind === 'merge-run' ? begun.run : null;
}

function succeed(story: Story, request = REQUEST): void {
  const run = ask(story, request);
  const { attempt } = begin(story, run)!;
  say(story, { action: 'end', run, attempt: attempt!, status: 'succeeded', proposals: 1 });
}

describe('the run that looks for merges', () => {
  it('says what its judge left open, and the next one begins without it', () => {
    const story = Story.withTools(2);
    const run = ask(story);
    const attempt = begin(story, run)!.attempt!;
    const open = { undecided: 3, reason: 'it is away', spent: { requests: 5, tokens: 800 } };
    say(story, { action: 'end', run, attempt, status: 'succeeded', open });
    expect(story.state.mergeRuns.run).toMatchObject({ status: 'succeeded', open });
    const bytes = encodeSnapshot(story.state);
    const state = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
    expect(state.mergeRuns.run).toMatchObject({ open });
    ask(story);
    expect(story.state.mergeRuns.run).not.toHaveProperty('open');
  });

  it('is one, however often it is asked for, until it has ended', () => {
    const story = Story.withTools(2);
    const run = ask(story);
    expect(say(story, { action: 'ask', request: REQUEST })).toMatchObject({ run: { id: run }, isNew: false });
    begin(story, run);
    expect(ask(story)).toBe(run);
    say(story, { action: 'end', run, status: 'cancelled' });
    expect(story.state.mergeRuns.run).toMatchObject({ status: 'cancelled', endedAt: START });
    expect(ask(story)).not.toBe(run);
  });

  it('hears only the process that began last, and nobody once it has ended', () => {
    const story = Story.withTools(2);
    const run = ask(story);
    const first = begin(story, run)!.attempt!;
    const second = begin(story, run)!.attempt!;
    const progress = { action: 'progress', run, progress: 0.5, pairs: 10, judged: 5 } as const;
    expect(say(story, { ...progress, attempt: first }).kind).toBe('merge-run-refused');
    expect(say(story, { ...progress, attempt: second }).kind).toBe('merge-run');
    expect(story.state.mergeRuns.run).toMatchObject({
      progress: 0.5,
      pairs: 10,
      judged: 5,
      interruptions: 1,
    });
    say(story, { action: 'end', run, status: 'cancelled' });
    for (const change of [
      { ...progress, attempt: second },
      { action: 'leave', run, attempt: second } as const,
      { action: 'end', run, attempt: second, status: 'succeeded' } as const,
      { action: 'begin', run } as const,
    ]) {
      expect(say(story, change).kind).toBe('merge-run-refused');
    }
    expect(story.state.mergeRuns.run!.status).toBe('cancelled');
  });

  it('fails when it was interrupted three times, and not because processes left it as they should', () => {
    const story = Story.withTools(2);
    const run = ask(story);
    for (let times = 0; times < 9; times++) {
      const { attempt, interruptions } = begin(story, run)!;
      expect(interruptions).toBe(0);
      say(story, { action: 'leave', run, attempt: attempt! });
      expect(story.state.mergeRuns.run!.status).toBe('queued');
    }
    for (let times = 0; times < 3; times++) expect(begin(story, run)!.status).toBe('running');
    expect(begin(story, run)).toMatchObject({ status: 'failed', endedAt: START });
    expect(begin(story, run)).toBeNull();
  });

  it('knows what was compared with success: the tools when it began, by which judge, threshold and embedder', () => {
    const story = Story.withTools(3);
    const covers = (request = REQUEST, fingerprint: string | null = 'e1') =>
      story.state.mergeRuns.covers(request, story.state.revision, fingerprint);
    expect(covers()).toBe(false);
    succeed(story);
    expect(covers()).toBe(true);
    expect(covers({ ...REQUEST, touched: 'all', autoApprove: 0.9 })).toBe(true);
    expect(covers({ ...REQUEST, judge: 'chat' })).toBe(false);
    expect(covers({ ...REQUEST, threshold: 0.9 })).toBe(false);
    expect(covers(REQUEST, 'e2')).toBe(false);
    // What is put as it was has not changed.
    story.tell(putTools([tool('t0')]));
    expect(covers()).toBe(true);
    story.tell(putTools([tool('t1', { description: 'other' })]));
    expect(covers()).toBe(false);
    // What changes while a run is under way may have been compared before it did.
    const run = ask(story);
    const { attempt } = begin(story, run)!;
    story.tell(putTools([tool('late')]));
    say(story, { action: 'end', run, attempt: attempt!, status: 'succeeded' });
    expect(covers()).toBe(false);
    // A run that failed has compared nothing.
    say(story, { action: 'end', run: ask(story), status: 'failed', error: 'it broke' });
    expect(covers()).toBe(false);
  });

  it('is in the snapshot', () => {
    const story = Story.withTools(2);
    succeed(story);
    begin(story, ask(story));
    const restored = decodeSnapshot(encodeSnapshot(story.state), 'default', {
      kernels: story.kernels,
      derived: true,
    });
    expect(stateDigest(restored)).toEqual(stateDigest(story.state));
    expect(restored.mergeRuns.save()).toEqual(story.state.mergeRuns.save());
  });
});
