import { expect, it } from 'vitest';
import { COLUMNS, CONTEXT_FEATURES, type ContextFeature } from '../../bandit/ranking/context-features.ts';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { reasonsOf } from '../../src/context/context-reasons.ts';

const MONDAY_NOON = Date.UTC(2026, 10, 23, 12) / 1000;

function reasons(known: Partial<Record<ContextFeature, number>>): string[] {
  const features = new Float64Array(CONTEXT_FEATURES.length).fill(Number.NaN);
  for (const [name, value] of Object.entries(known)) features[COLUMNS[name as ContextFeature]] = value;
  const moment = { query: null, now: MONDAY_NOON, place: 'home', tools: new Map([['call', 1]]), recent: [] };
  const usage = new UsageSignals();
  usage.note({ time: MONDAY_NOON - 60, place: 'home', tools: ['call'], items: [], query: null });
  return reasonsOf(features, usage, moment);
}
const uses = (count: number) => ({ uses: Math.log2(1 + count), 'share of all uses': 1 });

it('says "used often" of more than one use', () => {
  expect(reasons(uses(1))).not.toContain('used often');
  expect(reasons(uses(2))).toContain('used often');
});

it('says that an item is like the query before it tells habits', () => {
  const habits = {
    ...{ ...uses(9), 'its uses on this weekday': 1, 'its uses at this hour': 1, 'its uses at this place': 1 },
    'its uses with the tools': 1,
  };
  expect(reasons({ ...habits, words: 2 })).toEqual([
    'like the query',
    'used on Monday afternoons',
    'used at home',
  ]);
  expect(reasons({ ...habits, 'asked cosine': 0.9, cosine: 0.5, 'cosine gap': 0 }).slice(0, 2)).toEqual([
    'used for such queries',
    'like the query',
  ]);
});

it('says what it is where the map alone speaks for it', () => {
  expect(reasons({ 'mapped gap': 0 })).toEqual(['the kind of thing that such queries ask for']);
  expect(reasons({})).toEqual(['fits best of what there is']);
});
