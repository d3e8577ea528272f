import { describe, expect, it } from 'vitest';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import { reportOffPolicy } from '../../bandit/off-policy/off-policy-estimate.ts';
import { OffPolicyTally } from '../../bandit/off-policy/off-policy-tally.ts';
import type { Policy } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { observedDecision } from '../../src/decisions/observed-decision.ts';
import type { EvaluationResult } from '../../src/evaluation/evaluation.ts';
import { Replay } from '../../src/evaluation/replay.ts';
import type { PolicySettings } from '../../src/ledger/catalog-settings.ts';
import type { Entry, ObservationEntry, OutcomeReport } from '../../src/ledger/entry.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';
import { report } from '../state/entries.ts';
import { LoggedTraffic } from './logged-traffic.ts';

const COUNT = 300;
const kernels = wasmKernels();
const traffic = new LoggedTraffic(kernels, COUNT);

const settings = (
  name: string,
  exploration: PolicySettings['exploration'],
  parameters: PolicySettings['parameters'] = {},
): PolicySettings => ({ name, parameters, exploration, temperature: 0.1 });

const CANDIDATES = [
  settings('cosine', 'greedy'),
  settings('cosine', 'plackett-luce'),
  settings('sc-linucb', 'ucb'),
  settings('sc-linucb', 'plackett-luce', { alpha: 1 }),
  settings('sc-linucb-memory', 'plackett-luce'),
  settings('lin-ts', 'plackett-luce'),
].map((policy) => ({ name: JSON.stringify(policy), policy }));

/** As Replay is meant: a fold of its own for each candidate, every decision by itself, no learner frozen. */
function plainly(policy: PolicySettings, learnUntil: number, judged: (at: number) => boolean) {
  const state = new CatalogState('default', { kernels, derived: true });
  for (const [i, entry] of traffic.setUp.entries()) fold(state, { position: i + 1, entry });
  const learner = state.learners.own(policy, 'all', null, state.tools.vectors, state.slots());
  state.learners.keepOnly([learner.version]);
  const tally = new OffPolicyTally();
  for (const [i, entry] of traffic.entries.entries()) {
    const position = traffic.setUp.length + 1 + i;
    if (judged(i)) tally.add(judge(policy, learner.policy, traffic.decisions[i], entry), null);
    if (position <= learnUntil) fold(state, { position, entry });
  }
  state.free();
  return reportOffPolicy(tally, {
    alpha: 0.05,
    rewards: { lower: 0, upper: 1 },
    comparisons: CANDIDATES.length,
  });
}

function judge(settings: PolicySettings, policy: Policy, decision: Decision, { reports }: ObservationEntry) {
  const { query, columns, k, slate } = decision;
  const candidates = {
    slots: Int32Array.from(decision.candidates, (name) => Number(name.slice(1))),
    lexical: Float64Array.from(columns.lexical),
    dense: Float64Array.from(columns.dense),
    base: Float64Array.from(columns.retrieval),
    similarity: Float64Array.from(columns.similarity),
  };
  const recall = policy.recall(query);
  const random = randomFor(`${decision.id}/rank`);
  const { score, mean } = policy.rank({ query, candidates, recall, random });
  const target = { 'plackett-luce': score, ucb: score, greedy: mean }[settings.exploration];
  const pinned = decision.reasons.indexOf('pinned');
  const free = [...target.keys()].filter((index) => index !== slate[pinned]);
  const places = k - (pinned < 0 ? 0 : 1);
  const ofFree = Float64Array.from(free, (index) => target[index]);
  const drawn = inclusionPropensities(ofFree, places, settings.temperature, kernels);
  const best = [...ofFree.keys()].sort((i, j) => ofFree[j] - ofFree[i] || i - j).slice(0, places);
  const pi = new Float64Array(target.length).fill(1);
  for (const [at, index] of free.entries()) {
    pi[index] = settings.exploration === 'plackett-luce' ? drawn[at] : Number(best.includes(at));
  }
  return {
    propensities: columns.propensity,
    target: pi,
    expected: Float64Array.from(columns.mean, (value) => Math.min(1, Math.max(0, value))),
    slate,
    rewards: slate.map((i) => (reports[0].tool === decision.candidates[i] ? reports[0].value : 0)),
  };
}

function replayed(learnUntil?: number): { results: readonly EvaluationResult[]; replay: Replay } {
  const before = kernels.allocatedBytes;
  const context = { kernels, derived: true };
  const replay = new Replay(traffic.state, CANDIDATES, context, { alpha: 0.05, learnUntil });
  for (const [i, entry] of traffic.entries.entries()) {
    const positioned = { position: traffic.setUp.length + 1 + i, entry };
    replay.add(positioned, replay.wants(positioned) === null ? null : traffic.decisions[i]);
  }
  const results = replay.results();
  replay.free();
  expect(kernels.allocatedBytes).toBe(before);
  return { results, replay };
}

function expectSame({ name, kind: _, policy: __, ...got }: EvaluationResult, plain: object): void {
  const flat = (value: unknown): number[] =>
    typeof value === 'number'
      ? [value]
      : typeof value === 'object' && value !== null
        ? Object.values(value).flatMap(flat)
        : [];
  const [a, b] = [flat(got), flat(plain)];
  expect(a).toHaveLength(b.length);
  for (const [i, value] of a.entries()) {
    expect(Math.abs(value - b[i]), name).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(b[i])));
  }
}

describe('a replay', () => {
  it('learning along, says what the plain way says, within 1e-9', () => {
    const { results, replay } = replayed();
    expect(replay.decisions).toBe(COUNT);
    for (const [i, { policy }] of CANDIDATES.entries()) {
      expectSame(
        results[i],
        plainly(policy, Number.POSITIVE_INFINITY, () => true),
      );
    }
  });

  it('of candidates that stop to learn, says what the plain way says, within 1e-9', () => {
    const half = traffic.setUp.length + COUNT / 2;
    const { results, replay } = replayed(half);
    expect(replay.decisions).toBe(COUNT / 2);
    expect(replay.skipped.forLearning).toBe(COUNT / 2);
    for (const [i, { policy }] of CANDIDATES.entries()) {
      expectSame(
        results[i],
        plainly(policy, half, (at) => at >= COUNT / 2),
      );
    }
  });

  it('of candidates that never learn, judges by everything', () => {
    const { results, replay } = replayed(0);
    expect(replay.decisions).toBe(COUNT);
    expectSame(
      results[4],
      plainly(CANDIDATES[4].policy, 0, () => true),
    );
  });

  describe.each([
    ['a candidate that learns', 3],
    ['one that does not', 1],
  ])('with %s', (_, candidate) => {
    const [decision] = traffic.decisions;
    /** So many that there are estimates. */
    const others = traffic.entries.slice(1);
    const [best, other] = decision.slate.map((index) => decision.candidates[index]);
    const context = { kernels, derived: true };
    const entryOf = (reports: readonly OutcomeReport[], more: Partial<ObservationEntry> = {}) => ({
      ...({ kind: 'observation', key: reports[0].rewardId, at: decision.at + 10, closes: true } as const),
      ...{ decision: observedDecision(decision, []), reports },
      ...more,
    });
    const reward = (id: string, more: Partial<OutcomeReport> = {}) =>
      report(id, best, { at: decision.at + 10, ...more });

    /** Replays entries. Returns what it says of them. */
    function replayOf(entries: readonly ObservationEntry[], live = traffic.state) {
      const replay = new Replay(live, CANDIDATES.slice(candidate, candidate + 1), context, {
        alpha: 0.05,
      });
      const wanted: boolean[] = [];
      for (const [i, entry] of entries.entries()) {
        const id = replay.wants({ position: 3 + i, entry });
        wanted.push(id !== null);
        replay.add({ position: 3 + i, entry }, traffic.decisions.find((one) => one.id === id) ?? null);
      }
      const results = replay.results();
      replay.free();
      return { results, decisions: replay.decisions, skipped: replay.skipped, wanted };
    }

    it('judges a decision once, before it learns from it, however many entries it has', () => {
      const first = entryOf([reward('a')]);
      const once = replayOf([first]);
      const more = replayOf([first, entryOf([reward('b', { tool: other })]), first]);
      expect(once.decisions).toBe(1);
      expect({ ...more, wanted: [] }).toEqual({ ...once, wanted: [] });
      expect(more.wanted).toEqual([true, false, false]);
    });

    it('counts a repeated reward once', () => {
      const live = new CatalogState('default', context);
      for (const [i, entry] of traffic.setUp.entries()) fold(live, { position: i + 1, entry });
      live.settings = { ...live.settings, rewards: { ...live.settings.rewards, aggregation: 'sum' } };
      const first = entryOf([reward('a', { value: 0.4 })], { closes: false });
      const close = entryOf([reward('b', { tool: other })]);
      const once = replayOf([first, close, ...others], live);
      const twice = replayOf([first, first, close, ...others], live);
      expect(once.results[0].estimates).not.toEqual([]);
      expect(twice.results).toEqual(once.results);
      live.free();
    });

    it('does not judge by reports that the fold does not apply', () => {
      const late = reward('late', { at: decision.deadline + 1 });
      const unknown = reward('unknown', { tool: 'gone' });
      for (const refused of [late, unknown]) expect(replayOf([entryOf([refused])]).decisions).toBe(0);
      const once = replayOf([entryOf([reward('a')])]);
      const more = replayOf([entryOf([late]), entryOf([unknown]), entryOf([reward('a')])]);
      expect(more.decisions).toBe(1);
      expect(more.results).toEqual(once.results);
    });

    it('judges a decision that stays open when its window is over, and never again', () => {
      const later = { at: decision.deadline + 2 * 3_600_000 };
      const another = traffic.entries[1];
      const entries = [
        entryOf([reward('a')], { closes: false }),
        { ...another, ...later, reports: [{ ...another.reports[0], ...later }] },
        entryOf([reward('b')], later),
      ];
      const { decisions, wanted } = replayOf(entries);
      expect(decisions).toBe(1);
      expect(wanted).toEqual([true, true, false]);
    });

    it('waits for more where a call only timed out', () => {
      const timeout = reward('a', { outcome: 'timeout', value: 0 });
      expect(replayOf([entryOf([timeout])]).decisions).toBe(0);
      expect(replayOf([entryOf([timeout]), entryOf([reward('b')])]).decisions).toBe(1);
    });
  });

  it('leaves out what transcripts taught, also for candidates with a memory', () => {
    const run = (entries: readonly Entry[]) => {
      const context = { kernels, derived: true };
      const replay = new Replay(traffic.state, CANDIDATES.slice(4, 5), context, { alpha: 0.05 });
      for (const [i, entry] of entries.entries()) {
        const id = replay.wants({ position: 3 + i, entry });
        replay.add({ position: 3 + i, entry }, traffic.decisions.find((one) => one.id === id) ?? null);
      }
      const results = replay.results();
      replay.free();
      return results;
    };
    const some = traffic.entries.slice(0, 60);
    const taught = traffic.decisions.slice(0, 60).map(({ query, candidates }, i) => ({
      ...{ ...query, id: `${i}`, unit: 0 },
      outcomes: candidates.map((tool) => ({ tool, value: i % 2 })),
    }));
    const { at, decision } = some[0];
    const { fingerprint } = decision;
    const cases: Entry = { kind: 'cases', key: 'cases/1', at, fingerprint, cases: taught };
    expect(run([cases, ...some])).toEqual(run(some));
  });

  it('leaves out decisions of which a part came while it learned', () => {
    const context = { kernels, derived: true };
    const replay = new Replay(traffic.state, CANDIDATES.slice(2, 3), context, {
      alpha: 0.05,
      learnUntil: 10,
    });
    const early = { ...traffic.decisions[0], at: 1000 };
    const late = { ...traffic.decisions[1], at: 5000 };
    const entryOf = (decision: Decision, at: number, closes: boolean): ObservationEntry => ({
      kind: 'observation',
      key: `${decision.id}/${at}`,
      at,
      decision: observedDecision(decision, []),
      reports: [report(`r${at}`, decision.candidates[decision.slate[0]], { at })],
      closes,
    });
    replay.add({ position: 10, entry: entryOf(early, 2000, false) }, early);
    replay.add({ position: 11, entry: entryOf(early, 3000, true) }, early);
    replay.add({ position: 12, entry: entryOf(late, 6000, true) }, late);
    expect(replay.results()[0].decisions).toBe(1);
    expect(replay.skipped.forLearning).toBe(1);
    replay.free();
  });
});
