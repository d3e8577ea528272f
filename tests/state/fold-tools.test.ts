import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolsEntry } from '../../src/ledger/entry.ts';
import { foldInSteps } from '../../src/state/fold.ts';
import { decision, observe, putTools, report, START, Story, SYNCED, tool } from './entries.ts';

const DAY = 24 * 60 * 60 * 1000;

function namesOf(story: Story): string[] {
  return [...story.state.tools.live()].map(({ tool: { name } }) => name).sort();
}

/** What a sync of a source called mail has beside its tools. */
const fromMail = (story: Story) => ({ source: 'mail', of: story.source('mail'), synced: SYNCED });

describe('folding tools', () => {
  it('counts what was added, changed and left alone, and moves the revision only when something changed', () => {
    const story = Story.withTools(2);
    const before = story.state.revision;
    expect(story.tell(putTools([tool('t0'), tool('t1')]))).toMatchObject({
      added: 0,
      changed: 0,
      unchanged: 2,
    });
    expect(story.state.revision).toBe(before);
    const outcome = story.tell(putTools([tool('t0'), tool('t1', { description: 'new words' }), tool('t2')]));
    expect(outcome).toMatchObject({ kind: 'tools', added: 1, changed: 1, removed: 0, unchanged: 1 });
    expect(story.state.revision).not.toBe(before);
  });

  it('removes whatever a full sync does not list', () => {
    const story = Story.withTools(3);
    const sync = { t0: JSON.stringify(tool('t0')), t9: JSON.stringify(tool('t9')) };
    expect(story.tell(putTools([tool('t9')], { sync }))).toMatchObject({
      added: 1,
      changed: 0,
      removed: 2,
      unchanged: 1,
    });
    expect(namesOf(story)).toEqual(['t0', 't9']);
  });

  it('refuses a sync that was computed from another catalog than the one it meets', () => {
    const story = Story.withTools(1);
    const before = namesOf(story);
    const sync = { t0: 'a hash that t0 does not have' };
    expect(story.tell(putTools([], { sync }))).toMatchObject({ kind: 'tools-refused', reason: 'stale' });
    expect(story.tell(putTools([tool('t7')], { fingerprint: 'e0' }))).toMatchObject({ reason: 'stale' });
    expect(namesOf(story)).toEqual(before);
  });

  it('takes a key for one change only, whichever of two at once comes first', () => {
    const story = Story.withTools(1);
    const first = putTools([tool('t7')], { key: 'tools/mine', content: 'a' });
    const outcome = story.tell(first);
    expect(outcome).toMatchObject({ added: 1 });
    expect(story.tell(first)).toEqual(outcome);
    const other = putTools([tool('t8')], { key: 'tools/mine', content: 'b' });
    expect(story.tell(other)).toEqual({ kind: 'key-used' });
    expect(namesOf(story)).toEqual(['t0', 't7']);
  });

  it('pauses after every tool; position and revision move when all of it is done, and nothing that stays is missing meanwhile', () => {
    const story = Story.withTools(3);
    const { position, revision } = story.state;
    const put = [tool('t0', { description: 'new words' }), tool('t7'), tool('t8')];
    const sync = Object.fromEntries(put.map((one) => [one.name, JSON.stringify(one)]));
    const steps = foldInSteps(story.state, { position: position + 1, entry: putTools(put, { sync }) });
    const seen: string[][] = [];
    for (let step = steps.next(); !step.done; step = steps.next()) {
      expect(story.state).toMatchObject({ position, revision });
      seen.push(namesOf(story));
    }
    expect(seen).toEqual([
      ['t0', 't1', 't2'],
      ['t0', 't1', 't2', 't7'],
      ['t0', 't1', 't2', 't7', 't8'],
      ['t0', 't2', 't7', 't8'],
      ['t0', 't7', 't8'],
    ]);
    expect(namesOf(story)).toEqual(['t0', 't7', 't8']);
    expect(story.state.position).toBe(position + 1);
    expect(story.state.revision).not.toBe(revision);
  });

  it('judges If-Match against the revision at its place in the ledger', () => {
    const story = Story.withTools(1);
    const { revision } = story.state;
    expect(story.tell(putTools([tool('t5')], { ifMatch: revision }))).toMatchObject({ added: 1 });
    const second = story.tell(putTools([tool('t6')], { ifMatch: revision }));
    expect(second).toEqual({ kind: 'tools-refused', reason: 'revision', revision: story.state.revision });
    expect(namesOf(story)).toEqual(['t0', 't5']);
  });

  it('applies a command once and answers its repetition alike', () => {
    const story = Story.withTools(1);
    const entry = putTools([tool('t5')]);
    const first = story.tell(entry);
    story.tell(putTools([], { remove: ['t5'] }));
    expect(story.tell(entry)).toEqual(first);
    expect(namesOf(story)).toEqual(['t0']);
  });

  it('keeps the slot and the counts of a tool through removal, return and renaming', () => {
    const story = Story.withTools(2);
    const { slot, statistics } = story.state.tools.get('t1')!;
    statistics.called = 7;
    story.tell(putTools([], { remove: ['t1'] }));
    expect(story.state.tools.get('t1')).toBeUndefined();
    story.tell(putTools([tool('t1')]));
    expect(story.state.tools.get('t1')).toMatchObject({ slot, statistics: { called: 7 } });
    const renamed = tool('fresh', { replaces: ['never', 't1'] });
    expect(story.tell(putTools([renamed]))).toMatchObject({ added: 0, changed: 1 });
    expect(story.state.tools.get('fresh')).toMatchObject({ slot, statistics: { called: 7 } });
    expect(namesOf(story)).toEqual(['fresh', 't0']);
  });

  it('does not let a tool take the place of one that is put in the same call', () => {
    const story = Story.withTools(1);
    story.tell(putTools([tool('t0'), tool('other', { replaces: ['t0'] })]));
    expect(namesOf(story)).toEqual(['other', 't0']);
  });

  it('forgets a tombstone after its time and gives its slot to the next tool', () => {
    const story = Story.withTools(2);
    const { slot } = story.state.tools.get('t1')!;
    story.tell(putTools([], { remove: ['t1'] }));
    story.tell(putTools([tool('t0')], { at: START + 31 * DAY }));
    expect(story.state.tools.find('t1')).toBeUndefined();
    story.tell(putTools([tool('later')], { at: START + 31 * DAY }));
    expect(story.state.tools.get('later')).toMatchObject({ slot, statistics: { called: 0 } });
  });

  it('forgets what was learned of a tool with its tombstone, and not before', () => {
    const story = Story.withTools(2);
    const asked = decision('a', ['t0', 't1']);
    const { embedding, terms } = asked;
    story.rewards(observe(asked, [report('r0', 't1')]));
    const { slot } = story.state.tools.find('t1')!;
    const { policy } = story.state.learners.active;
    const rememberedSlots = (): number[] => [...policy.recall({ embedding, terms }).slots];
    const calls = (): number => policy.save().arrays.calls[slot];
    story.tell(putTools([], { remove: ['t1'] }));
    story.tell(putTools([tool('t0')], { at: START + 29 * DAY }));
    expect(rememberedSlots()).toContain(slot);
    expect(calls()).toBe(1);
    // Another tool is another one until then, even if it is put right after.
    story.tell(putTools([tool('t2')], { at: START + 29 * DAY }));
    expect(story.state.tools.get('t2')!.slot).not.toBe(slot);

    story.tell(putTools([tool('t0')], { at: START + 31 * DAY }));
    expect(rememberedSlots()).not.toContain(slot);
    story.tell(putTools([tool('later')], { at: START + 31 * DAY }));
    expect(story.state.tools.get('later')).toMatchObject({ slot });
    expect(calls()).toBe(0);
    const at = START + 31 * DAY;
    const open = { ...asked, id: 'default.open', at, deadline: at + DAY };
    expect(story.rewards(observe(open, [report('r1', 't1', { at })]))).toMatchObject([
      { status: 'rejected', reason: 'tool-unknown' },
    ]);
    expect(rememberedSlots()).not.toContain(slot);
  });
});

const toolName = fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e');
const change = fc.record({
  kind: fc.constantFrom('sync', 'patch'),
  source: fc.constantFrom('api', 'mail', 'files'),
  put: fc.uniqueArray(toolName, { maxLength: 3 }),
  remove: fc.uniqueArray(toolName, { maxLength: 2 }),
  version: fc.integer({ min: 1, max: 2 }),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function entryOf(story: Story, { kind, source, put, remove, version }: Change): ToolsEntry {
  const tools = put.map((name) => tool(name, { description: `version ${version}` }));
  const of = source === 'api' ? {} : { of: story.source(source), synced: SYNCED };
  if (kind === 'patch') return putTools(tools, { source, remove, ...of });
  const sync = Object.fromEntries(tools.map((one) => [one.name, JSON.stringify(one)]));
  return putTools(tools, { source, sync, ...of });
}

/** What an entry makes of the tools, by name. */
function naively(before: ReadonlyMap<string, string>, { kind, source, put, remove }: Change) {
  const named = kind === 'sync' ? put : [...put, ...remove];
  const foreign = named.filter((name) => (before.get(name) ?? source) !== source);
  if (foreign.length > 0) {
    const owners = foreign.map((name) => ({ tool: name, source: before.get(name) }));
    return { after: before, outcome: { kind: 'tools-refused', reason: 'source', owners } };
  }
  const stays = ([name, owner]: [string, string]): boolean =>
    kind === 'sync' ? owner !== source || put.includes(name) : !remove.includes(name);
  const kept = [...before].filter(stays);
  const added = put.filter((name) => !before.has(name)).length;
  const after = new Map([...kept, ...put.map((name) => [name, source] as const)]);
  return { after, outcome: { kind: 'tools', added, removed: before.size - kept.length } };
}

describe('tools of several sources', () => {
  it('belong to the source that put them: a sync replaces its own, and no source changes those of others', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const story = Story.withTools(0);
        let owners: ReadonlyMap<string, string> = new Map();
        for (const drawn of changes) {
          const one = { ...drawn, remove: drawn.remove.filter((name) => !drawn.put.includes(name)) };
          const { after, outcome } = naively(owners, one);
          const told = story.tell(entryOf(story, one));
          expect(told).toMatchObject(outcome);
          if (told.kind === 'tools') expect(told.added + told.changed + told.unchanged).toBe(one.put.length);
          owners = after;
          const live = [...story.state.tools.live()];
          expect(new Map(live.map(({ tool: { name }, source }) => [name, source]))).toEqual(owners);
        }
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  it('keep what was learned when one source removes them and another one puts them', () => {
    const story = Story.withTools(1);
    const { slot, statistics } = story.state.tools.get('t0')!;
    statistics.called = 7;
    story.tell(putTools([], { remove: ['t0'] }));
    expect(story.tell(putTools([tool('t0')], fromMail(story)))).toMatchObject({ added: 1 });
    expect(story.state.tools.get('t0')).toMatchObject({ slot, source: 'mail', statistics: { called: 7 } });
  });

  it('are not replaced by a tool of another source, unless they were removed', () => {
    const story = Story.withTools(2);
    story.tell(putTools([], { remove: ['t1'] }));
    const { slot } = story.state.tools.find('t1')!;
    story.tell(putTools([tool('heir', { replaces: ['t0', 't1'] })], fromMail(story)));
    expect(namesOf(story)).toEqual(['heir', 't0']);
    expect(story.state.tools.get('heir')).toMatchObject({ slot, source: 'mail' });
  });

  it('take nothing from each other, whatever they say that they replace; the API may', () => {
    const story = Story.withTools(1);
    story.tell(putTools([tool('send')], fromMail(story)));
    const { slot, statistics } = story.state.tools.get('send')!;
    statistics.called = 7;
    story.tell(putTools([], { ...fromMail(story), remove: ['send'] }));
    const other = { source: 'evil', of: story.source('evil'), synced: SYNCED };
    story.tell(putTools([tool('evil', { replaces: ['send'] })], other));
    expect(story.state.tools.get('evil')).toMatchObject({ statistics: { called: 0 } });
    story.tell(putTools([tool('mine', { replaces: ['send'] })]));
    expect(story.state.tools.get('mine')).toMatchObject({ slot, statistics: { called: 7 } });
  });
});
