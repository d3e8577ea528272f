import { describe, expect, it } from 'vitest';
import type { CasesEntry, TaughtCase } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-codec.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { axis, decision, remembered, START, Story } from './entries.ts';

const taughtCase = (id: string, more: Partial<TaughtCase> = {}): TaughtCase => {
  const { embedding, terms } = decision('a', ['t0']);
  return { id, embedding, terms, outcomes: [{ tool: 't0', value: 1 }], unit: 0, ...more };
};
let keys = 0;
const cases = (...some: TaughtCase[]): CasesEntry => ({
  ...{ kind: 'cases', key: `cases/${keys++}`, at: START, fingerprint: 'e1', cases: some },
});

describe('cases of transcripts', () => {
  it('are remembered, each once, and nothing else learns or counts', () => {
    const story = Story.withTools(2);
    const mixed = [
      { tool: 't0', value: 1 },
      { tool: 't1', value: 0 },
      { tool: 'gone', value: 1 },
    ];
    expect(story.tell(cases(taughtCase('a', { outcomes: mixed })))).toEqual({
      kind: 'cases',
      taught: 1,
      known: 0,
    });
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't1')).toEqual({ positives: 0, negatives: 1 });
    expect(story.tell(cases(taughtCase('a'), taughtCase('b')))).toEqual({
      kind: 'cases',
      taught: 1,
      known: 1,
    });
    expect(remembered(story, 't0')).toEqual({ positives: 2, negatives: 0 });
    const { statistics } = story.state.tools.find('t0')!;
    expect(Object.values(statistics).every((count) => count === 0)).toBe(true);
    expect(story.state.rewards.hours()).toEqual(Story.withTools(2).state.rewards.hours());
  });

  it('that name no tool teach nothing and may come again', () => {
    const story = Story.withTools(1);
    const none = taughtCase('a', { outcomes: [{ tool: 't1', value: 1 }] });
    expect(story.tell(cases(none))).toEqual({ kind: 'cases', taught: 0, known: 1 });
    expect(story.tell(cases(taughtCase('a')))).toMatchObject({ taught: 1 });
  });

  it('with the vectors of another embedder are refused', () => {
    const story = Story.withTools(1);
    expect(story.tell({ ...cases(taughtCase('a')), fingerprint: 'e2' })).toEqual({
      ...{ kind: 'cases-refused', reason: 'stale' },
    });
  });

  it('are forgotten with their unit, and known again after a snapshot', () => {
    const story = Story.withTools(1);
    story.tell(cases(taughtCase('a', { unit: 7 })));
    const context = { kernels: createTypescriptKernels(), derived: true };
    const resumed = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect([...resumed.taughtCases]).toEqual(['a']);
    expect(story.tell({ kind: 'forget', key: 'forget/1', at: START, unit: 7 })).toMatchObject({
      forgotten: 1,
    });
    expect(story.tell(cases(taughtCase('a', { unit: 7 })))).toMatchObject({ taught: 0 });
  });

  it('come back from bytes as they were', () => {
    const entry = cases(
      taughtCase('a'),
      taughtCase('b', { embedding: null }),
      taughtCase('c', { embedding: axis('t3') }),
    );
    expect(decodeEntry(encodeEntry(entry))).toEqual(entry);
  });
});
