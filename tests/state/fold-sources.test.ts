import { describe, expect, it } from 'vitest';
import type { SourceChange } from '../../src/ledger/source-definition.ts';
import { MAX_SOURCES } from '../../src/state/fold-sources.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { MINUTE, putTools, START, Story, SYNCED, tool } from './entries.ts';

let keys = 0;
const say = (story: Story, name: string, change: SourceChange, at = START) =>
  story.tell({ kind: 'source', key: `said/${keys++}`, at, name, change });

const sync = (story: Story, of: number, names: readonly string[], more = {}) => {
  const tools = names.map((name) => tool(name));
  const hashes = Object.fromEntries(tools.map((one) => [one.name, JSON.stringify(one)]));
  return story.tell(putTools(tools, { source: 'mail', of, synced: SYNCED, sync: hashes, ...more }));
};

describe('folding sources', () => {
  it('ignores what was read by a definition of before, or from a source that is gone', () => {
    const story = Story.withTools(0);
    const first = story.source('mail');
    const second = story.source('mail', { prefix: 'm.' });
    expect(second).toBeGreaterThan(first);
    expect(sync(story, first, ['a'])).toMatchObject({ kind: 'tools-refused', reason: 'gone' });
    const failed = { action: 'failed', generation: first, startedAt: START, error: 'x' } as const;
    expect(say(story, 'mail', failed)).toMatchObject({ kind: 'source-refused', reason: 'unknown' });
    expect(sync(story, second, ['a'])).toMatchObject({ added: 1 });
    say(story, 'mail', { action: 'remove', keepTools: false });
    expect(story.state.tools.size).toBe(0);
    expect(sync(story, second, ['b'])).toMatchObject({ reason: 'gone' });
    // A definition that is put again as it is changes nothing.
    const again = story.source('mail');
    expect(story.source('mail')).toBe(again);
  });

  it('waits twice as long after each failure, an hour at most, and not after those of another definition', () => {
    const story = Story.withTools(0);
    const generation = story.source('mail', { refreshSeconds: 600 });
    const waits = Array.from({ length: 9 }, () => {
      say(story, 'mail', { action: 'failed', generation, startedAt: START, error: 'it is away' });
      return (story.state.sources.get('mail')!.nextAt! - START) / 1000;
    });
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
    story.source('other');
    story.source('mail', { refreshSeconds: 600 });
    expect(story.state.sources.get('mail')).toMatchObject({ failures: 9, error: 'it is away' });
    // Another definition has not failed yet.
    const other = story.source('mail', { refreshSeconds: 60 });
    const fresh = { failures: 0, error: null, attempt: null, nextAt: START };
    expect(story.state.sources.get('mail')).toMatchObject(fresh);
    say(story, 'mail', { action: 'failed', generation: other, startedAt: START, error: 'it is away' });
    expect(story.state.sources.get('mail')!.nextAt! - START).toBe(30_000);
  });

  it('waits as long as its source says after a success', () => {
    const story = Story.withTools(0);
    const generation = story.source('mail', { refreshSeconds: 600 });
    say(story, 'mail', { action: 'failed', generation, startedAt: START, error: 'it is away' });
    const wait = (ttlMs?: number) => {
      const report = { ...SYNCED, ...(ttlMs !== undefined && { ttlMs }) };
      say(story, 'mail', { action: 'unchanged', generation, ...report }, START + MINUTE);
      return story.state.sources.get('mail')!.nextAt! - START - MINUTE;
    };
    expect([wait(), wait(90_000), wait(5), wait(0), wait(9e9)]).toEqual([
      600_000, 90_000, 30_000, 600_000, 600_000,
    ]);
    expect(story.state.sources.get('mail')).toMatchObject({ error: null, failures: 0 });
  });

  it('serves what was held only by an approval of exactly that definition', () => {
    const story = Story.withTools(0);
    const of = story.source('mail', { onChange: 'quarantine' });
    sync(story, of, ['a']);
    const risky = { tool: tool('a', { description: 'other' }), hash: 'h2', embedding: null };
    const old = { a: JSON.stringify(tool('a')) };
    const put = [{ ...risky, held: true as const }];
    expect(story.tell(putTools([], { source: 'mail', of, synced: SYNCED, sync: old, put }))).toMatchObject({
      ...{ added: 0, changed: 0, removed: 0, unchanged: 1 },
    });
    expect(story.state.tools.get('a')!.tool.description).toBe('does a');
    const approve = (hash: string) =>
      story.tell(putTools([], { source: 'mail', of, put: [{ ...risky, hash }] }));
    expect(approve('h3')).toMatchObject({ kind: 'tools-refused', reason: 'stale' });
    expect(approve('h2')).toMatchObject({ changed: 1 });
    expect(story.state.sources.held('mail').size).toBe(0);
    expect(story.state.tools.get('a')!.tool.description).toBe('other');
  });

  it('gives the tools of a removed source to the API where they are to stay', () => {
    const story = Story.withTools(0);
    sync(story, story.source('mail'), ['a', 'b']);
    say(story, 'mail', { action: 'remove', keepTools: true });
    expect([...story.state.tools.live()].map(({ source }) => source)).toEqual(['api', 'api']);
    expect(story.tell(putTools([], { remove: ['a'] }))).toMatchObject({ removed: 1 });
  });

  it('has room for so many sources and no more', () => {
    const story = Story.withTools(0);
    for (let i = 0; i < MAX_SOURCES; i++) story.source(`s${i}`);
    const definition = story.state.sources.get('s0')!.definition;
    expect(say(story, 'more', { action: 'put', definition })).toMatchObject({ reason: 'too-many' });
    expect(say(story, 's0', { action: 'put', definition })).toMatchObject({ kind: 'source', added: false });
  });

  it('keeps all of it in snapshots', () => {
    const story = Story.withTools(1);
    const of = story.source('mail', { onChange: 'quarantine' });
    sync(story, of, ['a']);
    const held = { tool: tool('b'), hash: 'h', nameThere: 'x', held: true as const, embedding: null };
    const served = { tool: tool('c'), hash: 'c', nameThere: 'there', embedding: null };
    const hashes = { a: JSON.stringify(tool('a')), c: 'c' };
    story.tell(putTools([], { source: 'mail', of, synced: SYNCED, sync: hashes, put: [held, served] }));
    const context = { kernels: story.kernels, derived: true };
    const again = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(stateDigest(again)).toEqual(stateDigest(story.state));
    expect(again.sources.get('mail')).toEqual(story.state.sources.get('mail'));
    expect([...again.sources.held('mail').values()]).toEqual([...story.state.sources.held('mail').values()]);
    expect(again.tools.get('c')).toMatchObject({ nameThere: 'there', source: 'mail' });
    again.free();
  });
});
