import { describe, expect, it } from 'vitest';
import { assign, detailFor } from '../../src/experiments/assign.ts';
import { START, Story } from '../state/entries.ts';
import { create, move, variant } from '../state/experiment-entries.ts';

const LEVELS = [variant('full', 5000, { detail: 'full' }), variant('brief', 5000, { detail: 'brief' })];

/** Half of the sessions compare levels of detail, the other half compares policies. */
function layer(): Story {
  const story = Story.withTools(2);
  story.tell(create({ name: 'levels', salt: 'a', traffic: 5000, variants: LEVELS, against: 'full' }));
  story.tell(create({ name: 'policies', salt: 'b', traffic: 5000 }));
  for (const name of ['levels', 'policies']) expect(move(story, { action: 'start' }, name).reason).toBeNull();
  return story;
}

describe('a request that says how much of each definition it wants', () => {
  const sessions = Array.from({ length: 200 }, (_, i) => ({ sessionId: `s${i}` }));

  it.each([{ detail: 'brief' }, { detail: 'full' }, { format: 'names' }] as const)(
    'is in no variant of an experiment that compares levels, and in other experiments as always: %o',
    (own) => {
      const { state } = layer();
      const seen = { levels: 0, policies: 0 };
      for (const session of sessions) {
        const open = assign({ ...session, format: 'mcp' }, 'd', state);
        const { experiment } = open.assigned!.assignment;
        seen[experiment as keyof typeof seen]++;
        const { assigned, ownDetail } = assign({ ...session, ...own }, 'd', state);
        if (experiment === 'levels') expect([assigned, ownDetail]).toEqual([null, ['levels']]);
        else expect([assigned?.assignment, ownDetail]).toEqual([open.assigned?.assignment, []]);
      }
      expect(Math.min(seen.levels, seen.policies)).toBeGreaterThan(60);
    },
  );
});

it('a request whose slate ToolScope chooses is in no variant, since all variants would serve it the same', () => {
  const story = layer();
  const { state } = story;
  const nothing = { assigned: null, withoutUnit: [], ownDetail: [] };
  expect(assign({ sessionId: 's1' }, 'd', state).assigned).not.toBeNull();
  expect(assign({ sessionId: 's1', slate: 'toolscope' }, 'd', state)).toEqual(nothing);
  story.tell({ kind: 'settings', key: 't', at: START, patch: { slate: 'toolscope' } });
  expect(assign({ sessionId: 's1' }, 'd', state)).toEqual(nothing);
  expect(assign({ sessionId: 's1', slate: 'policy' }, 'd', state).assigned).not.toBeNull();
});

it('the level is what the request says, else what its variant says, else what the catalog says', () => {
  const story = layer();
  const { state } = story;
  const [assigned] = Array.from(
    { length: 50 },
    (_, i) => assign({ sessionId: `s${i}` }, 'd', state).assigned,
  ).filter((one) => one?.variant.name === 'brief');
  const settings = { detail: 'full' } as const;
  expect(detailFor({ detail: 'names' }, assigned, settings)).toBe('names');
  expect(detailFor({ format: 'names' }, assigned, settings)).toBe('names');
  expect(detailFor({ format: 'openai' }, assigned, settings)).toBe('brief');
  expect(detailFor({}, { ...assigned!, serves: 'retrieval' }, settings)).toBe('brief');
  expect(detailFor({}, { ...assigned!, serves: 'killed' }, settings)).toBe('full');
  expect(detailFor({}, null, settings)).toBe('full');
});
