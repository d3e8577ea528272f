import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { DecisionLog } from '../../src/decisions/decision-log.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { applyRewards } from '../../src/rewards/apply-reward.ts';
import type { RewardHealth } from '../../src/rewards/health-report.ts';
import { type RewardSources, rewardHealth } from '../../src/rewards/reward-health.ts';
import { decision, observe, report, START, Story } from '../state/entries.ts';

const HOUR = 3_600_000;

/** Health of what a story has told, with so many decisions routed. */
function healthOf({ state }: Story, now: number, routed = 0): Promise<RewardHealth> {
  const catalog = { name: 'default', state, now: () => now, replica: { lag: async () => 0 } };
  const sources = {
    queue: { pending: async () => 0 },
    decisionLogs: { find: async () => ({ countSince: async () => routed }) },
    refused: { flush: async () => undefined },
  };
  return rewardHealth(catalog as unknown as Catalog, sources as unknown as RewardSources);
}

function learnLate(story: Story): void {
  story.tell({ kind: 'settings', key: 'k', at: START, patch: { rewards: { onLate: 'learn' } } });
}

describe('the health of rewards', () => {
  it.each([
    [25 * HOUR, 172_800],
    [3 * 24 * HOUR, 345_600],
    [9 * 24 * HOUR, (9 * 24 * HOUR) / 1000],
  ])('has a number for a delay of %i ms', async (delay, seconds) => {
    const story = Story.withTools(1);
    learnLate(story);
    const at = START + delay;
    story.rewards(observe(decision('a', ['t0']), [report('r', 't0', { at, occurredAt: START + 4000 })]));
    const health = await healthOf(story, at);
    expect(health.delaySeconds).toEqual({ p50: seconds, p95: seconds });
    expect(health.outcomeDelaySeconds).toEqual({ p50: 5, p95: 5 });
  });

  it('is that of the last 24 hours also when nothing came in since', async () => {
    const story = Story.withTools(1);
    story.rewards(observe(decision('a', ['t0']), [report('r', 't0')]));
    expect((await healthOf(story, START + HOUR, 4)).decisions).toEqual({
      routed: 4,
      rewarded: 1,
      share: 0.25,
    });
    expect((await healthOf(story, START + 30 * HOUR)).decisions).toEqual({
      ...{ routed: 0, rewarded: 0, share: null },
    });
  });

  it('tells who reports late from who holds reports back', async () => {
    const health = async (more: object) => {
      const story = Story.withTools(1);
      for (let i = 0; i < 10; i++) {
        story.rewards(
          observe(decision(`d${i}`, ['t0']), [report(`r${i}`, 't0', { at: START + HOUR, ...more })]),
        );
      }
      return healthOf(story, START + HOUR);
    };
    const late = await health({});
    expect(late.unlearned).toEqual({ 'after-deadline': 10 });
    expect(late.alerts).toMatchObject([{ code: 'late-rewards', observed: expect.stringContaining('100 %') }]);
    const heldBack = await health({ occurredAt: START + 2000 });
    expect(heldBack.alerts[0].likelyCause).toContain('held back');
  });

  it('raises an alert when most reports say unknown', async () => {
    const health = async (unknown: number, successes: number) => {
      const story = Story.withTools(1);
      for (let i = 0; i < unknown + successes; i++) {
        const said = i < unknown ? ({ outcome: 'unknown', value: 0 } as const) : {};
        story.rewards(observe(decision(`d${i}`, ['t0']), [report(`r${i}`, 't0', said)]));
      }
      return (await healthOf(story, START + HOUR)).alerts;
    };
    expect(await health(9, 2)).toMatchObject([
      { code: 'mostly-unknown', observed: expect.stringContaining('82 %') },
    ]);
    expect(await health(5, 5)).toEqual([]);
    expect(await health(4, 0)).toEqual([]);
  });

  it('counts rewards whose decision expired while they were on their way, and raises an alert', async () => {
    const story = Story.withTools(1);
    const appended: Entry[] = [];
    const useAll: DecisionLog['useAll'] = async (ids, use) => ids.map((_, index) => use(null, index));
    const decisions = { useAll, get: async () => null };
    await applyRewards(
      { catalog: 'default', decisions: [{ decisionId: 'gone', closes: true, reports: [report('r', 't0')] }] },
      {
        ledger: { append: async (entries) => appended.push(...entries) },
        decisions,
      },
    );
    for (const entry of appended) story.tell(entry);
    expect(story.state.refused.get('r')).toMatchObject({ status: 'rejected', reason: 'decision-expired' });
    const health = await healthOf(story, START + HOUR);
    expect(health.reports.rejected).toBe(1);
    expect(health.unlearned).toEqual({ 'decision-expired': 1 });
    expect(health.alerts).toMatchObject([{ code: 'expired-rewards' }]);
  });
});
