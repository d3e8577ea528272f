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
