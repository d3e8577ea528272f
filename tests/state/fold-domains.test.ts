import { describe, expect, it } from 'vitest';
import type { SettingsPatch } from '../../src/ledger/catalog-settings.ts';
import type { EmbedderEntry } from '../../src/ledger/entry.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { axis, emptyState, START, Story, tool } from './entries.ts';

const DOMAINS = [
  { name: 'billing', examples: ['pay'] },
  { name: 'code', words: ['pull request'] },
];
const weights = Float32Array.of(0.5, 0, 0, 0, 0, 0, 0, 0);
const terms = [[], [[7, 8]]];

function change(story: Story, patch: SettingsPatch, fingerprint = 'e1') {
  const key = `settings/${story.entries.length}`;
  const domains = patch.domains && { fingerprint, terms, weights };
  return story.tell({ kind: 'settings', key, at: START, patch, ...(domains && { domains }) });
}

function move(story: Story, domains: EmbedderEntry['domains']) {
  return story.tell({
    ...{ kind: 'embedder', key: `embedder/${story.entries.length}`, at: START },
    ...{ model: 'other', fingerprint: 'e2', dimensions: 4 },
    vectors: [{ name: 't0', hash: JSON.stringify(tool('t0')), embedding: axis('t0') }],
    ...(domains && { domains }),
  });
}

describe('domains', () => {
  it('come with the rules that tell them apart, in every replica and in snapshots', () => {
    const story = Story.withTools(1);
    expect(change(story, { domains: DOMAINS })).toMatchObject({ kind: 'settings' });
    expect(story.state.domains).toEqual({ of: 'settings/2', terms, weights });
    const again = emptyState();
    for (const [at, entry] of story.entries.entries()) fold(again, { position: at + 1, entry });
    const context = { kernels: createTypescriptKernels(), derived: true };
    const loaded = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(loaded.domains).toEqual(story.state.domains);
    expect(loaded.settings.domains).toEqual(DOMAINS);
    expect(encodeSnapshot(loaded)).toEqual(encodeSnapshot(again));
  });

  it('whose rules were made with the embedder before are refused', () => {
    const story = Story.withTools(1);
    expect(change(story, { domains: DOMAINS }, 'e0')).toEqual({ kind: 'settings-refused', reason: 'stale' });
    expect(story.state.settings.domains).toEqual([]);
  });

  it('are there as long as a pin is for them, in whatever order commands arrive', () => {
    const story = Story.withTools(1);
    const pins = [{ tool: 't0', domain: 'billing' }];
    const refusal = { kind: 'settings-refused', reason: 'domain', tool: 't0', domain: 'billing' };
    expect(change(story, { pins })).toEqual(refusal);
    change(story, { domains: DOMAINS });
    expect(change(story, { pins })).toMatchObject({ kind: 'settings' });
    expect(change(story, { domains: [DOMAINS[1]] })).toEqual(refusal);
    expect(story.state.settings).toMatchObject({ domains: DOMAINS, pins });
    change(story, { pins: [] });
    expect(change(story, { domains: [] })).toMatchObject({ kind: 'settings' });
  });

  it('move to another embedder with weights of their own, and not without', () => {
    const story = Story.withTools(1);
    change(story, { domains: DOMAINS });
    const { of } = story.state.domains;
    const stale = { kind: 'embedder-refused', reason: 'stale' };
    expect(move(story, undefined)).toEqual(stale);
    expect(move(story, { of: 'settings/0', weights })).toEqual(stale);
    const others = Float32Array.of(0, 0, 0, 1, 0, 0, 0, 0);
    expect(move(story, { of, weights: others })).toMatchObject({ kind: 'embedder' });
    expect(story.state.domains).toEqual({ of, terms, weights: others });
  });
});
