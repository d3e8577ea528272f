import { completeSettings } from '../ledger/catalog-settings.ts';
import type { SettingsEntry, VersionEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldOutcome } from './outcome.ts';

export function foldSettings(state: CatalogState, { settings }: SettingsEntry): FoldOutcome {
  state.settings = completeSettings(settings);
  const { version } = state.learners.activate(settings.policy, state.tools.vectors, state.slots());
  return { kind: 'settings', policyVersion: version };
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
