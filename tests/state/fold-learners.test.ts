import { describe, expect, it } from 'vitest';
import type { SettingsPatch } from '../../src/ledger/catalog-settings.ts';
import { START, Story } from './entries.ts';
import { answer, create, move, OTHER_POLICY, variant } from './experiment-entries.ts';

function configure(story: Story, patch: SettingsPatch): void {
  story.tell({ kind: 'settings', key: `settings/${story.entries.length}`, at: START, patch });
}

describe('folding settings', () => {
  it('keeps what others changed: each patch names what it changes and nothing else', () => {
    const story = Story.withTools(2);
    configure(story, { killSwitch: true });
    configure(story, { rewards: { windowSeconds: 60 } });
    configure(story, { rewards: { onLate: 'learn' } });
    configure(story, { retainText: true });
    expect(story.state.settings).toMatchObject({
      killSwitch: true,
      retainText: true,
      rewards: { windowSeconds: 60, onLate: 'learn', aggregation: 'last' },
    });
  });

  it('merges changes of the policy: parameters, exploration and temperature that are left out stay', () => {
    const story = Story.withTools(2);
    configure(story, { policy: { exploration: 'ucb', parameters: { taughtRate: 0 } } });
    configure(story, { policy: { name: 'sc-linucb-memory', parameters: { alpha: 0.2 } } });
    configure(story, { policy: { temperature: 0.1 } });
    expect(story.state.settings.policy).toEqual({
      name: 'sc-linucb-memory',
      parameters: { taughtRate: 0, alpha: 0.2 },
      exploration: 'ucb',
      temperature: 0.1,
    });
    expect(story.state.learners.active.settings).toEqual(story.state.settings.policy);
    configure(story, { policy: { name: 'sc-linucb', parameters: { alpha: 1 } } });
    expect(story.state.settings.policy).toEqual({
      name: 'sc-linucb',
      parameters: { alpha: 1 },
      exploration: 'ucb',
      temperature: 0.03,
    });
  });

  it('keeps the learner when a parameter is set to what it is by default', () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    configure(story, { policy: { parameters: { projection: 32 } } });
    expect(story.state.learners.active.version).toBe(version);
  });

  it('refuses parameters for a policy that another command has replaced meanwhile', () => {
    const story = Story.withTools(2);
    const change = (key: string, ifPolicy: string) =>
      story.tell({
        kind: 'settings',
        key,
        at: START,
        patch: { killSwitch: true, policy: { parameters: { alpha: 1 } } },
        ifPolicy,
      });
    configure(story, { policy: { name: 'sc-linucb' } });
    const before = story.state.settings;
    expect(change('late', 'sc-linucb-memory')).toEqual({
      kind: 'settings-refused',
      reason: 'policy',
      policy: 'sc-linucb',
    });
    expect(story.state.settings).toBe(before);
    expect(change('in time', 'sc-linucb')).toMatchObject({ kind: 'settings' });
    expect(story.state.settings).toMatchObject({ killSwitch: true, policy: { parameters: { alpha: 1 } } });
  });

  it('leaves the policy alone that was promoted or activated in between', () => {
    const story = Story.withTools(2);
    const first = story.state.learners.active.version;
    const variants = [variant('old', 5000), variant('new', 5000, { policy: OTHER_POLICY })];
    answer(story, create({ variants }));
    move(story, { action: 'start' });
    move(story, { action: 'promote', variant: 'new' });
    const promoted = story.state.learners.active.version;
    configure(story, { killSwitch: true });
    expect(story.state.settings.policy).toEqual(OTHER_POLICY);
    expect(story.state.learners.active.version).toBe(promoted);
    story.tell({ kind: 'version', key: 'version/1', at: START, version: first });
    configure(story, { killSwitch: false });
    expect(story.state.learners.active.version).toBe(first);
  });
});
