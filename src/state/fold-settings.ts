import type { SettingsEntry, VersionEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldOutcome } from './outcome.ts';

/** Merges what was changed into what there is, whoever changed something else in between. */
export function foldSettings(state: CatalogState, { patch }: SettingsEntry): FoldOutcome {
  const { policy } = patch;
  if (policy !== undefined) state.learners.activate(policy, state.tools.vectors, state.slots());
  const rewards = { ...state.settings.rewards, ...patch.rewards };
  state.settings = { ...state.settings, ...patch, rewards };
  return { kind: 'settings', policyVersion: state.learners.active.version };
}

/** Back to a version that is kept. It went on learning meanwhile, so no observation is missing. */
export function foldVersion(state: CatalogState, { version, learner }: VersionEntry): FoldOutcome {
  if (learner !== undefined && state.learners.get(version) === undefined) {
    if (state.taught > learner.asOf) return { kind: 'version-stale' };
    const bytes = Buffer.from(learner.bytes, 'base64');
    state.learners.adopt(version, learner.settings, bytes, state.tools.vectors);
  }
  const active = state.learners.activateVersion(version);
  if (active === null) return { kind: 'version-unknown' };
  state.settings = { ...state.settings, policy: active.settings };
  return { kind: 'version', policyVersion: active.version };
}
