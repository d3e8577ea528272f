import { describe, expect, it } from 'vitest';
import { nextStep } from '../../src/experiments/experiment-driver.ts';
import { decision, observe, report, START, Story } from '../state/entries.ts';
import {
  answer,
  assignment,
  create,
  exposure,
  exposures,
  move,
  OTHER_POLICY,
  variant,
} from '../state/experiment-entries.ts';

const HOUR = 60 * 60 * 1000;

function started(better: 'old' | 'new', shares: [number, number] = [9000, 1000]): Story {
  const story = Story.withTools(2);
  const variants = [variant('old', shares[0]), variant('new', shares[1], { policy: OTHER_POLICY })];
  answer(story, create({ variants, automatic: { minimumUnits: 60, minimumHours: 24 } }));
  move(story, { action: 'start' });
  visits(story, better, shares);
  return story;
}

/** So many units in the proportion of the shares; the better variant always earns more. */
function visits(story: Story, better: 'old' | 'new', shares: [number, number]): void {
  const trial = story.state.experiments.get('trial')!;
  const of = shares.map((share) => Math.round((800 * share) / 10_000));
  for (const [i, name] of (['old', 'new'] as const).entries()) {
    for (let unit = 0; unit < of[i]; unit++) {
      const id = `${name}${story.entries.length}`;
      const to = assignment(unit * 2 + i, name, { allocation: trial.allocation!.version });
      story.tell(exposures([exposure(`default.${id}`, to)]));
      const value = (unit % 5) / 10 + (name === better ? 0.5 : 0);
      story.tell(observe(decision(id, ['t0'], { assignments: [to] }), [report(`r${id}`, 't0', { value })]));
    }
  }
}

const trial = (story: Story) => story.state.experiments.get('trial')!;

describe('an automatic experiment', () => {
  it('goes from 10 to 50 %, then everything, each after its time and units', () => {
    const story = started('new');
    expect(nextStep(trial(story), START + 23 * HOUR)).toBeNull();
    const step = nextStep(trial(story), START + 24 * HOUR);
    expect(step).toEqual({ action: 'shares', shares: { old: 5000, new: 5000 } });
    move(story, step!);
    expect(nextStep(trial(story), START + 48 * HOUR)).toBeNull();
    visits(story, 'new', [5000, 5000]);
    expect(nextStep(trial(story), START + 20 * HOUR)).toBeNull();
    const last = nextStep(trial(story), START + 48 * HOUR);
    expect(last).toEqual({ action: 'promote', variant: 'new' });
    expect(move(story, last!).reason).toBeNull();
    expect(nextStep(trial(story), START + 96 * HOUR)).toBeNull();
  });

  it('stops when the answer is no, whatever its step', () => {
    expect(nextStep(trial(started('old')), START)).toEqual({ action: 'stop' });
  });

  it('does nothing while its units are not split as the shares say', () => {
    const story = started('new', [5000, 5000]);
    visits(story, 'new', [9000, 1000]);
    const crowd = story.state.experiments.get('trial')!;
    for (let unit = 10_000; unit < 10_300; unit++) {
      story.tell(exposures([exposure(`default.x${unit}`, assignment(unit, 'old'))]));
    }
    expect(nextStep(crowd, START + 96 * HOUR)).toBeNull();
  });

  it('by hand is never touched', () => {
    const story = Story.withTools(2);
    answer(story, create());
    move(story, { action: 'start' });
    expect(nextStep(trial(story), START + 1000 * HOUR)).toBeNull();
  });
});
