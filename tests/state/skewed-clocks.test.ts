import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RewardContract } from '../../src/ledger/catalog-settings.ts';
import type { ObservedDecision, SettingsEntry } from '../../src/ledger/entry.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { decision, MINUTE, observe, putTools, report, START, Story, tool } from './entries.ts';

const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
const SKEWS = { '3 h ahead': 3 * HOUR, '10 years ahead': 10 * YEAR, '3 h behind': -3 * HOUR };

/** A decision of two tools, made at this time by somebody's clock. */
function decidedAt(id: string, at: number): ObservedDecision {
  return decision(id, ['t0', 't1'], { at, deadline: at + 10 * MINUTE });
}

function settings(onLate: RewardContract['onLate'], key: string): SettingsEntry {
  return { kind: 'settings', key, at: START, patch: { rewards: { onLate } } };
}

describe('entries of a clock that was wrong', () => {
  it.each(Object.entries(SKEWS))('cost no reward: one entry %s', (_, skew) => {
    const story = Story.withTools(2);
    story.tell(putTools([tool('t2')], { at: START + skew }));
    const told: ReturnType<typeof observe>[] = [];
    for (let i = 0; i < 50; i++) {
      const at = START + i * MINUTE;
      const observed = decidedAt(`d${i}`, at);
      const [first, second] = [0, 1].map((n) =>
        observe(observed, [report(`d${i}.${n}`, `t${n}`, { at: at + 1000 })], { closes: false }),
      );
      expect(story.rewards(first)).toMatchObject([{ status: 'applied' }]);
      // Something else comes in between, once more by the wrong clock.
      if (i === 25) story.tell(putTools([tool('t3')], { at: at + skew }));
      expect(story.rewards(second)).toMatchObject([{ status: 'applied' }]);
      told.push(first, second);
    }
    expect(story.state.tools.find('t0')?.statistics.called).toBe(50);
    for (const again of told) expect(story.rewards(again)[0].status).toMatch(/duplicate|late/);
    expect(story.state.tools.find('t0')?.statistics.called).toBe(50);
  });

  it('cost no reward: decisions by a clock ahead, reported through one that is right', () => {
    const story = Story.withTools(2);
    for (let i = 0; i < 20; i++) {
      const at = START + i * MINUTE;
      const skewed = decidedAt(`s${i}`, at + 3 * HOUR);
      expect(story.rewards(observe(skewed, [report(`s${i}.0`, 't0', { at })]))).toMatchObject([
        { status: 'applied' },
      ]);
      const right = decidedAt(`r${i}`, at);
      expect(story.rewards(observe(right, [report(`r${i}.0`, 't0', { at })]))).toMatchObject([
        { status: 'applied' },
      ]);
    }
  });

  it('do not keep the records behind theirs for ever', () => {
    const story = Story.withTools(2);
    story.rewards(observe(decidedAt('far', START + 10 * YEAR), [report('far.0', 't0')]));
    for (let i = 0; i < 30; i++) {
      const at = START + i * HOUR;
      story.rewards(observe(decidedAt(`d${i}`, at), [report(`d${i}.0`, 't0', { at })]));
    }
    expect(story.state.decisions.size).toBeLessThan(5);
  });

  it('leave the hours of the statistics and of the limits as they are', () => {
    const story = Story.withTools(2);
    const ahead = report('a.0', 't0', { at: START + 10 * YEAR });
    story.tell(settings('learn', 'k'));
    story.rewards(observe(decidedAt('a', START), [ahead], { at: START }));
    story.rewards(observe(decidedAt('b', START), [report('b.0', 't0')]));
    expect(story.state.rewards.lastDay(START).map(({ decisions }) => decisions)).toEqual([2]);
  });
});

describe('reports long after the window', () => {
  const late = (minutes: number, id: string) => [report(id, 't0', { at: START + minutes * MINUTE })];

  it('are learned for a day where the contract says so, each of them once', () => {
    const story = Story.withTools(2);
    story.tell(settings('learn', 'k'));
    const observed = decidedAt('a', START);
    const entry = observe(observed, late(80, 'a.0'));
    // Others go on meanwhile.
    story.rewards(observe(decidedAt('b', START + 79 * MINUTE), late(80, 'b.0')));
    expect(story.rewards(entry)).toEqual([{ rewardId: 'a.0', status: 'applied' }]);
    expect(story.rewards(entry)).toMatchObject([{ status: 'duplicate' }]);
    expect(story.rewards(observe(observed, late(23 * 60, 'a.1')))).toMatchObject([{ status: 'applied' }]);
    const end = observe(decidedAt('c', START + 48 * HOUR), late(48 * 60, 'c.0'));
    story.rewards(end);
    expect(story.rewards(observe(observed, late(48 * 60, 'a.2')))).toEqual([
      { rewardId: 'a.2', status: 'late', reason: 'record-expired' },
    ]);
    expect(story.state.refused.get('a.2')).toMatchObject({ status: 'late', reason: 'record-expired' });
    const [day] = story.state.rewards.lastDay(START + 48 * HOUR);
    expect(day.reasons).toMatchObject({ 'record-expired': 1 });
  });

  it('are applied once though the contract changes in between', () => {
    const story = Story.withTools(2);
    const entry = observe(decidedAt('a', START), late(5, 'a.0'));
    story.rewards(entry);
    const dropping = observe(decidedAt('b', START + 80 * MINUTE), late(81, 'b.0'));
    story.rewards(dropping);
    expect(story.state.decisions.get('default.a')).toBeUndefined();
    story.tell(settings('learn', 'k'));
    expect(story.rewards(entry)).toMatchObject([{ status: 'late', reason: 'record-expired' }]);
    expect(story.rewards(entry)).toMatchObject([{ status: 'duplicate' }]);
    expect(story.state.tools.find('t0')?.statistics.called).toBe(2);
  });
});

describe('rewards whose decision is gone', () => {
  it('are counted and remembered with the reason, once', () => {
    const story = Story.withTools(1);
    const entry = {
      kind: 'unlearned',
      key: 'u',
      at: START,
      rewards: [report('gone.0', 't0')],
      refused: { 'decision-not-found': 3 },
    } as const;
    story.tell(entry);
    story.tell({ ...entry, refused: {} });
    expect(story.state.refused.get('gone.0')).toMatchObject({ reason: 'decision-expired' });
    expect(story.state.rewards.lastDay(START)).toMatchObject([
      {
        statuses: { rejected: 1, duplicate: 1 },
        reasons: { 'decision-expired': 1 },
        refused: { 'decision-not-found': 3 },
      },
    ]);
  });
});

describe('any clocks', () => {
  const skew = fc.constantFrom(0, 3 * HOUR, -3 * HOUR, 30 * HOUR, 10 * YEAR, -10 * YEAR);
  const step = fc.record({
    decision: fc.nat({ max: 8 }),
    report: fc.nat({ max: 2 }),
    after: fc.constantFrom(0, MINUTE, 30 * MINUTE, 5 * HOUR),
    decidedBy: skew,
    acceptedBy: skew,
    onLate: fc.constantFrom(null, 'learn', 'log'),
  });

  it('apply a reward at most once, and say and count what becomes of every other', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const story = Story.withTools(2);
        const made = new Map<number, ObservedDecision>();
        const applied = new Map<string, number>();
        let time = START;
        for (const [n, one] of steps.entries()) {
          time += one.after;
          if (one.onLate !== null) story.tell(settings(one.onLate, `k${n}`));
          const known = made.get(one.decision) ?? decidedAt(`${one.decision}`, time + one.decidedBy);
          made.set(one.decision, known);
          const id = `${one.decision}.${one.report}`;
          const at = time + one.acceptedBy;
          const [outcome] = story.rewards(observe(known, [report(id, `t${one.report % 2}`, { at })]));
          if (outcome.status === 'applied') applied.set(id, (applied.get(id) ?? 0) + 1);
          if (outcome.status === 'late') expect(outcome.reason).toMatch(/after-deadline|record-expired/);
        }
        const bytes = encodeSnapshot(story.state);
        const again = decodeSnapshot(bytes, 'default', { kernels: story.kernels, derived: true });
        expect(encodeSnapshot(again)).toEqual(bytes);
        again.free();
        expect([...applied.values()].every((times) => times === 1)).toBe(true);
        story.state.free();
      }),
      { seed: 11, numRuns: 100 },
    );
  });

  it('lose nothing that is reported inside its window, whatever else is in the ledger', () => {
    const other = fc.record({ wrong: skew, at: fc.nat({ max: 30 }) });
    fc.assert(
      fc.property(fc.array(other, { maxLength: 10 }), (others) => {
        const story = Story.withTools(2);
        for (let i = 0; i < 30; i++) {
          const at = START + i * 20 * MINUTE;
          for (const { wrong, at: when } of others) {
            if (when === i) story.tell(putTools([tool(`x${i}`)], { at: at + wrong }));
          }
          const observed = decidedAt(`d${i}`, at);
          const entry = observe(observed, [report(`d${i}.0`, 't0', { at: at + 9 * MINUTE })]);
          expect(story.rewards(entry)).toEqual([{ rewardId: `d${i}.0`, status: 'applied' }]);
          expect(story.rewards(entry)[0].status).toBe('duplicate');
        }
        story.state.free();
      }),
      { seed: 12, numRuns: 50 },
    );
  });
});
