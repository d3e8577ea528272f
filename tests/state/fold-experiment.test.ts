import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { reportOf } from '../../src/state/experiments/experiment-record.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { decision, observe, report, START, Story } from './entries.ts';
import {
  answer,
  assignment,
  create,
  definition,
  exposure,
  exposures,
  move,
  OTHER_POLICY,
  variant,
} from './experiment-entries.ts';

function running(more: Parameters<typeof create>[0] = {}): Story {
  const story = Story.withTools(3);
  expect(answer(story, create(more)).reason).toBeNull();
  expect(move(story, { action: 'start' }).reason).toBeNull();
  return story;
}

const trial = (story: Story) => story.state.experiments.get('trial')!;
const total = (story: Story, of: string, metric: string) => trial(story).tally!.total(of, metric);

/** A decision of a unit, shown and rewarded. */
function visit(
  story: Story,
  unit: number,
  of: string,
  value: number,
  more: { latencyMs?: number } = {},
): void {
  const to = assignment(unit, of, { allocation: trial(story).allocation!.version });
  const id = `v${story.entries.length}`;
  story.tell(exposures([exposure(`default.${id}`, to)]));
  story.tell(
    observe(decision(id, ['t0'], { assignments: [to] }), [report(`r${id}`, 't0', { value, ...more })]),
  );
}

describe('an experiment', () => {
  it('gives a variant that names no policy the one that the catalog has at the start', () => {
    const story = Story.withTools(3);
    answer(story, create({ variants: [variant('now', 5000, { policy: null }), variant('new', 5000)] }));
    expect(trial(story).variant('now')).toMatchObject({ policy: null, detail: null });
    const patch = { policy: OTHER_POLICY, detail: 'brief' } as const;
    story.tell({ kind: 'settings', key: 'after the draft', at: START, patch });
    expect(move(story, { action: 'start' }).reason).toBeNull();
    expect(trial(story).variant('now')).toMatchObject({ policy: OTHER_POLICY, detail: null });
    expect(trial(story).variants.get('now')?.version).toBe(story.state.learners.active.version);
    story.tell({ kind: 'settings', key: 'later', at: START, patch: { policy: { name: 'uniform' } } });
    expect(trial(story).variant('now')).toMatchObject({ policy: OTHER_POLICY });
  });

  it('gives a variant without a level of detail the one of the start, if another has one', () => {
    const story = Story.withTools(3);
    const variants = [
      variant('now', 5000, { policy: null }),
      variant('brief', 5000, { policy: null, detail: 'brief' }),
    ];
    answer(story, create({ variants }));
    story.tell({ kind: 'settings', key: 'level', at: START, patch: { detail: 'names' } });
    expect(move(story, { action: 'start' }).reason).toBeNull();
    expect(trial(story).variant('now')).toMatchObject({ detail: 'names' });
    expect(trial(story).comparesDetail).toBe(true);
  });

  it('refuses variants that are the same once defaults are filled in, as a draft or at the start', () => {
    const story = Story.withTools(3);
    const { policy } = story.state.settings;
    const spelled = { ...policy, parameters: { projection: 32 } };
    const twice = [variant('old', 5000), variant('new', 5000, { policy: spelled })];
    expect(answer(story, create({ variants: twice })).reason).toBe('same');
    answer(story, create({ variants: [variant('old', 5000, { policy: null }), twice[1]] }));
    expect(move(story, { action: 'start' })).toMatchObject({
      reason: 'same',
      sentence: expect.stringContaining('"old" and "new"'),
    });
    story.tell({ kind: 'settings', key: 'other', at: START, patch: { policy: OTHER_POLICY } });
    expect(move(story, { action: 'start' }).reason).toBeNull();
  });

  it('lets two variants be the same that name no policy, or do something else with theirs', () => {
    const story = running({
      variants: [
        variant('a', 5000, { policy: null }),
        variant('b', 5000, { policy: null }),
        variant('frozen', 0, { mode: 'shadow' }),
      ],
    });
    expect(trial(story).status).toBe('running');
  });

  it('goes one way: draft, running, stopped, promoted', () => {
    const story = Story.withTools(3);
    expect(move(story, { action: 'start' }).reason).toBe('unknown');
    answer(story, create());
    expect(answer(story, create()).reason).toBe('exists');
    expect(move(story, { action: 'stop' }).reason).toBe('status');
    expect(move(story, { action: 'kill', variant: null }).reason).toBe('status');
    expect(move(story, { action: 'promote', variant: 'new' }).reason).toBe('status');
    expect(move(story, { action: 'start' }).reason).toBeNull();
    expect(move(story, { action: 'start' }).reason).toBe('status');
    expect(move(story, { action: 'stop' }).reason).toBeNull();
    const again = move(story, { action: 'stop' });
    expect(again).toMatchObject({ reason: 'status', sentence: expect.stringContaining('is stopped') });
    expect(move(story, { action: 'shares', shares: { old: 10_000 } }).reason).toBe('status');
    expect(move(story, { action: 'promote', variant: null }).reason).toBe('no-winner');
    expect(move(story, { action: 'promote', variant: 'newer' }).reason).toBe('variant');
    expect(move(story, { action: 'promote', variant: 'new' }).reason).toBeNull();
    expect(move(story, { action: 'promote', variant: 'new' }).reason).toBe('status');
    expect(story.state.settings.policy.name).toBe('cosine');
    expect(trial(story).history.map(({ action }) => action)).toEqual(['create', 'start', 'stop', 'promote']);
  });

  it('counts a decision for its unit, a batch once, and a correction as one', () => {
    const story = running();
    const to = assignment(1, 'new');
    const batch = exposures([
      exposure('default.a', to, { tokens: 120 }),
      exposure('default.b', to, { tokens: 60 }),
    ]);
    story.tell(batch);
    story.tell(batch);
    const seen = decision('a', ['t0', 't1'], { assignments: [to] });
    story.tell(observe(seen, [report('r1', 't0', { value: 0.5, latencyMs: 20 })], { closes: false }));
    story.tell(observe(seen, [report('r2', 't0', { value: 0.25 }), report('r3', 't1', { value: -1 })]));
    expect(trial(story).exposures.get('new')).toBe(2);
    expect(trial(story).tally!.units('new')).toBe(1);
    expect(total(story, 'new', 'reward')).toEqual({ sum: -0.75, of: 1 });
    expect(total(story, 'new', 'success')).toEqual({ sum: 1, of: 1 });
    expect(total(story, 'new', 'latencyMs')).toEqual({ sum: 20, of: 1 });
    expect(total(story, 'new', 'rewardPerDecision')).toEqual({ sum: -0.75, of: 2 });
    expect(total(story, 'new', 'tokens')).toEqual({ sum: 180, of: 2 });
  });

  it('gives the catalog the level of detail of the variant that is promoted, if it has one', () => {
    const variants = [variant('old', 5000, { detail: 'full' }), variant('new', 5000, { detail: 'brief' })];
    const story = running({ variants });
    expect(story.state.settings.detail).toBe('full');
    move(story, { action: 'promote', variant: 'new' });
    expect(story.state.settings.detail).toBe('brief');
    expect(trial(story).history.at(-1)?.note).toContain('definitions are served with detail "brief"');
    const without = running();
    move(without, { action: 'promote', variant: 'new' });
    expect(without.state.settings.detail).toBe('full');
  });

  it('keeps count, also in a snapshot, of the requests that were left out', () => {
    const story = running({ variants: [variant('old', 5000, { detail: 'brief' }), variant('new', 5000)] });
    for (const withoutUnit of [1, 2]) {
      story.tell(exposures([], { withoutUnit: { trial: withoutUnit }, ownDetail: { trial: 5, gone: 1 } }));
    }
    const context = { kernels: createTypescriptKernels(), derived: true };
    const loaded = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    const record = loaded.experiments.get('trial');
    expect(record).toMatchObject({ withoutUnit: 3, ownDetail: 10, comparesDetail: true });
  });

  it('does not count what was assigned before its shares changed', () => {
    const story = running();
    move(story, { action: 'shares', shares: { old: 1000, new: 9000 } });
    story.tell(exposures([exposure('default.a', assignment(1, 'new'))]));
    expect(trial(story).tally!.units('new')).toBe(0);
    expect(move(story, { action: 'shares', shares: { old: 1000 } }).reason).toBe('shares');
    expect(move(story, { action: 'shares', shares: { older: 10_000 } }).reason).toBe('variant');
  });

  it('is not promoted while its units are not split as the shares say', () => {
    const story = running();
    for (let unit = 0; unit < 60; unit++) visit(story, unit, 'new', unit % 2);
    const refusal = move(story, { action: 'promote', variant: 'new' });
    expect(refusal).toMatchObject({ reason: 'sample-ratio', sentence: expect.stringMatching(/not split/) });
  });

  it('has its winner promoted', () => {
    const story = running();
    for (let unit = 0; unit < 200; unit++) {
      visit(
        story,
        unit,
        unit % 2 === 0 ? 'new' : 'old',
        unit % 2 === 0 ? (unit % 5) / 5 + 0.2 : (unit % 5) / 10,
      );
    }
    expect(reportOf(trial(story), trial(story).tally!)).toMatchObject({ decision: true, winner: 'new' });
    expect(move(story, { action: 'promote', variant: null }).reason).toBeNull();
    expect(story.state.learners.active.settings.name).toBe('cosine');
  });

  it('loses a variant that breaks a guardrail, and stops when none is left', () => {
    const guardrails = [{ metric: 'latencyMs', harm: 'rise', tolerance: 10 }] as const;
    const variants = ['old', 'slow', 'new'].map((name, i) =>
      variant(name, [4000, 3000, 3000][i], { policy: null }),
    );
    const story = running({ guardrails, variants });
    for (let unit = 0; unit < 400; unit++) {
      const of = ['old', 'slow', 'new'][unit % 3];
      if (trial(story).shares.get(of) === 0) continue;
      visit(story, unit, of, 1, { latencyMs: (unit % 7) + (of === 'slow' ? 100 : 0) });
    }
    expect(trial(story).status).toBe('running');
    expect([...trial(story).shares]).toEqual([
      ['old', 7000],
      ['slow', 0],
      ['new', 3000],
    ]);
    expect(trial(story).variants.get('slow')?.outBecause).toMatch(/latencyMs is at least/);
    const refusal = move(story, { action: 'shares', shares: { old: 4000, slow: 3000, new: 3000 } });
    expect(refusal.reason).toBe('shares');
    for (let unit = 0; unit < 400 && trial(story).status === 'running'; unit++) {
      visit(story, unit, unit % 2 ? 'old' : 'new', 1, { latencyMs: (unit % 7) + (unit % 2 ? 0 : 100) });
    }
    expect(trial(story).status).toBe('stopped');
    expect(story.state.experiments.running).toEqual([]);
  });
});

describe('experiments that could meet the same request', () => {
  it.each([
    ['another layer', { layer: 'other' }, 'overlap'],
    ['another unit in the same layer', { unit: 'userId' as const }, 'overlap'],
    ['more than the layer has left', { traffic: 6000 }, 'overlap'],
    ['the rest of the layer', { traffic: 5000 }, null],
    ['targets that exclude each other', { layer: 'other', target: { plan: ['paid'] } }, null],
  ])('%s', (_, more, reason) => {
    const story = running({ traffic: 5000, target: { plan: ['free', 'trial'] } });
    answer(story, create({ ...more, name: 'second' }));
    expect(move(story, { action: 'start' }, 'second').reason).toBe(reason);
  });

  it('keep their units when another one starts or ends', () => {
    const story = running({ traffic: 3000 });
    const inTrial = (unit: number) =>
      story.state.experiments.running[0].division!.experimentOf(`unit-${unit}`) === 'trial';
    const before = Array.from({ length: 500 }, (_, unit) => inTrial(unit));
    answer(story, create({ name: 'a-second', traffic: 4000 }));
    move(story, { action: 'start' }, 'a-second');
    expect(Array.from({ length: 500 }, (_, unit) => inTrial(unit))).toEqual(before);
    move(story, { action: 'stop' }, 'a-second');
    expect(Array.from({ length: 500 }, (_, unit) => inTrial(unit))).toEqual(before);
  });
});

describe('learners of variants', () => {
  const updates = (story: Story, of: string) =>
    story.state.learners.get(trial(story).variants.get(of)!.version!)!.policy.sizeInBytes().updates;

  it('learn from all, from their own decisions, or from none', () => {
    const story = Story.withTools(3);
    for (let i = 0; i < 5; i++) story.tell(observe(decision(`x${i}`, ['t0']), [report(`rx${i}`, 't0')]));
    answer(
      story,
      create({
        variants: [
          variant('all', 2500),
          variant('own', 2500, { learnsFrom: 'own', startsFrom: 'champion' }),
          variant('cold', 2500, { learnsFrom: 'own', startsFrom: 'cold' }),
          variant('frozen', 2500, { mode: 'freeze' }),
        ],
        against: 'all',
      }),
    );
    move(story, { action: 'start' });
    const names = ['all', 'own', 'cold', 'frozen'];
    expect(names.map((name) => updates(story, name))).toEqual([5, 5, 0, 5]);
    for (const [unit, name] of names.entries()) visit(story, unit, name, 1);
    story.tell(observe(decision('y', ['t0']), [report('ry', 't0')]));
    expect(names.map((name) => updates(story, name))).toEqual([10, 6, 1, 5]);
    // A promoted variant learns from everybody again.
    move(story, { action: 'promote', variant: 'frozen' });
    story.tell(observe(decision('z', ['t0']), [report('rz', 't0')]));
    expect(updates(story, 'frozen')).toBe(6);
  });

  it('are kept while their experiment runs, and not started from a champion of another kind', () => {
    const story = running();
    const { version } = trial(story).variants.get('new')!;
    for (let alpha = 1; alpha < 8; alpha++) {
      const policy = { ...story.state.settings.policy, name: 'sc-linucb', parameters: { alpha } };
      story.tell({ kind: 'settings', key: `alpha/${alpha}`, at: START, patch: { policy } });
    }
    expect(story.state.learners.get(version!)).toBeDefined();
    move(story, { action: 'stop' });
    expect(story.state.learners.get(version!)).toBeUndefined();
    const variants = [variant('a', 10_000, { policy: OTHER_POLICY, startsFrom: 'champion' })];
    answer(story, create({ name: 'other', variants, against: 'a' }));
    expect(move(story, { action: 'start' }, 'other').reason).toBe('start');
  });
});

describe('a shadow', () => {
  it('is compared tool by tool, whether its slate or the reward comes first', () => {
    const story = running({ variants: [variant('old', 10_000), variant('shade', 0, { mode: 'shadow' })] });
    const compare = (id: string, slate: string[]) =>
      story.tell(
        exposures([], {
          shadows: [
            {
              decisionId: `default.${id}`,
              experiment: 'trial',
              variant: 'shade',
              slate,
              served: ['t0', 't1'],
            },
          ],
        }),
      );
    compare('a', ['t1', 't2']);
    story.tell(observe(decision('a', ['t0', 't1', 't2'], { shown: 2 }), [report('r1', 't2')]));
    story.tell(observe(decision('b', ['t0', 't1']), [report('r2', 't0')]));
    compare('b', ['t1', 't2']);
    const totals = { decisions: 2, overlap: 1, successes: 2, hits: 1, servedHits: 1 };
    expect(trial(story).shadows.get('shade')).toEqual(totals);
  });
});

describe('snapshots with experiments', () => {
  const step = fc.record({
    kind: fc.constantFrom(
      'show',
      'reward',
      'reward',
      'shares',
      'kill',
      'shadow',
      'forget',
      'stop',
      'promote',
    ),
    unit: fc.nat({ max: 6 }),
    isNew: fc.boolean(),
    value: fc.double({ min: -1, max: 1, noNaN: true }),
    share: fc.nat({ max: 10_000 }),
    minutes: fc.nat({ max: 3000 }),
  });

  it('restore to the same bits, and folding goes on to the same bits from any point', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), fc.nat(), (steps, cut) => {
        const guardrails = [{ metric: 'reward', harm: 'fall', tolerance: 0.1 }] as const;
        const variants = [...definition().variants, variant('shade', 0, { mode: 'shadow' })];
        const story = running({ variants, guardrails });
        let resumed = story.state;
        for (const [index, { kind, unit, isNew, value, share, minutes }] of steps.entries()) {
          if (index === cut % steps.length) {
            const bytes = encodeSnapshot(story.state);
            resumed = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
            expect(Buffer.compare(encodeSnapshot(resumed), bytes)).toBe(0);
          }
          const name = isNew ? 'new' : 'old';
          const to = assignment(unit, name, { allocation: trial(story).allocation!.version });
          const at = START + minutes * 60_000;
          const comparison = { experiment: 'trial', variant: 'shade', slate: ['t1'], served: ['t0'] };
          const entry: Entry = {
            show: () =>
              exposures([exposure(`default.${unit}`, to, { covariate: value, tokens: unit })], { at }),
            reward: () =>
              observe(decision(`${unit}${index}`, ['t0'], { assignments: [to], deadline: at + 60_000 }), [
                report(`r${index}`, 't0', { value, at }),
              ]),
            shares: () => changeAt(at, { action: 'shares', shares: { old: share, new: 10_000 - share } }),
            kill: () => changeAt(at, { action: 'kill', variant: name }),
            stop: () => changeAt(at, { action: 'stop' }),
            promote: () => changeAt(at, { action: 'promote', variant: name }),
            shadow: () =>
              exposures([], { at, shadows: [{ ...comparison, decisionId: `default.${unit}${index}` }] }),
            forget: () => ({ kind: 'forget', key: `forget/${index}`, at, unit }) as Entry,
          }[kind]();
          const position = story.entries.length + 1;
          story.tell(entry);
          if (resumed !== story.state) fold(resumed, { position, entry });
        }
        expect(Buffer.compare(encodeSnapshot(resumed), encodeSnapshot(story.state))).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

let keys = 0;

function changeAt(at: number, change: Parameters<typeof move>[1]): Entry {
  return { kind: 'experiment', key: `later/${keys++}`, at, name: 'trial', change };
}
