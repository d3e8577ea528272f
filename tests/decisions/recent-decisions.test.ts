import { expect, test } from 'vitest';
import type { Decision } from '../../src/decisions/decision.ts';
import { RecentDecisions } from '../../src/decisions/recent-decisions.ts';
import { sampleDecision } from './arbitrary-decision.ts';

const SAMPLE = sampleDecision('decision', 1_000, 5);
const decisionOf = (i: number): Decision => ({ ...SAMPLE, id: `decision-${i}` });
const recordOf = (i: number): Uint8Array => Uint8Array.of(i & 255, i >> 8);
const idOf = (i: number): string => `decision-${i}`;

function recentAfter(count: number): RecentDecisions {
  const recent = new RecentDecisions();
  for (let i = 0; i < count; i++) recent.add(decisionOf(i), recordOf(i));
  return recent;
}

test('the last 32 are there whole, the newest 1,024 at least as their records, and none of those before 2,048', () => {
  const recent = new RecentDecisions();
  for (let i = 0; i < 5_000; i++) {
    const decision = decisionOf(i);
    recent.add(decision, recordOf(i));
    expect(recent.get(decision.id)).toBe(decision);
    if (i < 1_024) continue;
    expect(recent.get(idOf(i - 31))).toMatchObject({ id: idOf(i - 31) });
    expect(recent.get(idOf(i - 32))).toEqual(recordOf(i - 32));
    expect(recent.get(idOf(i - 1_023))).toEqual(recordOf(i - 1_023));
    expect(recent.get(idOf(i - 2_048))).toBeUndefined();
  }
});

test('what was dropped is gone, be it whole, or a record of either generation', () => {
  const recent = recentAfter(1_500);
  for (const i of [0, 1_100, 1_499]) {
    expect(recent.get(idOf(i))).toBeDefined();
    recent.drop(idOf(i));
    expect(recent.get(idOf(i))).toBeUndefined();
  }
  expect(recent.get(idOf(1))).toEqual(recordOf(1));
  expect(recent.get(idOf(1_498))).toMatchObject({ id: idOf(1_498) });
});
