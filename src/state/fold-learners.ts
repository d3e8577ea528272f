import type { EmbedderEntry, ForgetEntry, SettingsEntry, VersionEntry } from '../ledger/entry.ts';
import { unitKeyPrefixes } from '../ledger/unit.ts';
import type { CatalogState } from './catalog-state.ts';
import { endExperiments } from './experiments/run-experiment.ts';
import type { EmbedderResult, FoldResult } from './fold-result.ts';
import { changedPolicy } from './policy-settings.ts';

/** Merges the changed settings into the present ones; changes of other commands in between stay. */
export function foldSettings(
  state: CatalogState,
  { key, patch, ifPolicy, domains }: SettingsEntry,
): FoldResult {
  let { policy } = state.settings;
  if (ifPolicy !== undefined && ifPolicy !== policy.name) {
    return { kind: 'settings-refused', reason: 'policy', policy: policy.name };
  }
  if (domains !== undefined && domains.fingerprint !== state.fingerprint) {
    return { kind: 'settings-refused', reason: 'stale' };
  }
  const { pins, domains: named } = { ...state.settings, ...patch };
  for (const { tool, domain } of pins) {
    if (domain === undefined || named.some(({ name }) => name === domain)) continue;
    return { kind: 'settings-refused', reason: 'domain', tool, domain };
  }
  if (domains !== undefined) {
    state.domains = { of: key, terms: domains.terms, weights: domains.weights };
  }
  if (patch.policy !== undefined) {
    policy = changedPolicy(policy, patch.policy);
    state.learners.activate(policy, state.tools.vectors, state.slots());
  }
  const rewards = { ...state.settings.rewards, ...patch.rewards };
  const merging = { ...state.settings.merging, ...patch.merging };
  state.settings = { ...state.settings, ...patch, policy, rewards, merging };
  return { kind: 'settings', policyVersion: state.learners.active.version };
}

/** Makes a kept version the active one. It has gone on learning, so no observation is missing. */
export function foldVersion(state: CatalogState, { version, learner }: VersionEntry): FoldResult {
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

/** Replaces all vectors by those of another embedder, which gets its own learner. Learned state of two embedders is never mixed. */
export function foldEmbedder(state: CatalogState, entry: EmbedderEntry): EmbedderResult {
  const { model, fingerprint, dimensions, version } = entry;
  const embedder = { model, fingerprint, dimensions };
  if (entry.first && state.embedder.model !== null) return { kind: 'embedder-refused', reason: 'bound' };
  if (version !== undefined && state.learners.get(version)?.embedder.fingerprint !== fingerprint) {
    return { kind: 'embedder-refused', reason: 'version' };
  }
  const before = state.learners.active.version;
  if (fingerprint === state.fingerprint) {
    state.learners.rename(embedder);
    if (version !== undefined) state.learners.activateVersion(version);
  } else {
    if (!hasAllVectors(state, entry)) return { kind: 'embedder-refused', reason: 'stale' };
    const vectors = new Map(entry.vectors.map(({ name, embedding }) => [name, embedding]));
    const ofMerges = new Map(entry.merges?.map(({ id, embedding }) => [id, embedding]));
    state.tools.replaceVectors(
      dimensions,
      ({ tool }) => vectors.get(tool.name) ?? null,
      ({ slot }) => ofMerges.get(state.merges.approvedOf(slot)!.id) ?? null,
    );
    state.merges.replaceVectors(dimensions, (id) => ofMerges.get(id) ?? undefined);
    const ofInstructions = new Map(entry.instructions?.map(({ id, embedding }) => [id, embedding]));
    state.instructions.replaceVectors(
      dimensions,
      ({ instruction }) => ofInstructions.get(instruction.id) ?? null,
    );
    endExperiments(
      state,
      'The embedding model was changed: nothing that was learned before can be compared with it.',
    );
    state.learners.bind(embedder, state.tools.vectors, state.slots(), version);
    state.domains = { ...state.domains, weights: entry.domains?.weights ?? new Float32Array(0) };
    // Scores and similarities of another model mean something else. Which instructions help where they are relevant stays true.
    state.sufficiency.reset();
    state.effects.resetSlope();
  }
  const { active } = state.learners;
  state.settings = { ...state.settings, policy: active.settings };
  const kept = active.version !== before && state.learners.get(before) !== undefined ? before : null;
  return { kind: 'embedder', policyVersion: active.version, kept };
}

/**
 * Returns whether the entry has a vector for every tool, approved merge and instruction, and a classifier of the domains; what changed after its sender read
 * it has none.
 */
function hasAllVectors(
  { tools, merges, instructions, settings, domains: { of } }: CatalogState,
  { fingerprint, vectors, merges: ofMerges = [], instructions: ofInstructions = [], domains }: EmbedderEntry,
): boolean {
  if (fingerprint === null) return true;
  const hasExamples = settings.domains.some(({ examples = [] }) => examples.length > 0);
  if (hasExamples && domains?.of !== of) return false;
  const hashes = new Map(vectors.map(({ name, hash }) => [name, hash]));
  const byMerge = new Map(ofMerges.map(({ id, hash }) => [id, hash]));
  const byId = new Map(ofInstructions.map(({ id, hash }) => [id, hash]));
  return (
    [...tools.live()].every(({ tool, hash }) => hashes.get(tool.name) === hash) &&
    [...merges.embedded()].every(({ id, hash }) => byMerge.get(id) === hash) &&
    [...instructions.live()].every(({ instruction, hash }) => byId.get(instruction.id) === hash)
  );
}

/** Erases what was learned about a tool, of an instruction or from a unit. */
export function foldForget(state: CatalogState, entry: ForgetEntry): FoldResult {
  let forgotten = 0;
  if (entry.tool !== undefined) {
    const record = state.tools.find(entry.tool);
    if (record !== undefined) {
      for (const { policy } of state.learners.all()) policy.forgetTool(record.slot);
      state.tools.clearStatistics(record);
      state.confusable.forget(record.slot);
      forgotten++;
    }
  }
  if (entry.instruction !== undefined) {
    const record = state.instructions.find(entry.instruction);
    if (record !== undefined) {
      state.effects.scale(record.slot, 0);
      forgotten++;
    }
  }
  if (entry.unit !== undefined) {
    state.forgotten.add(entry.unit, entry.at, state.clock);
    for (const { policy } of state.learners.all()) forgotten += policy.forgetUnit(entry.unit);
    const prefixes = unitKeyPrefixes(entry.unit);
    for (const { units, tally } of state.experiments.all()) {
      units.forget(prefixes, (unit, variant) => tally?.release(variant, unit));
    }
  }
  return { kind: 'forget', forgotten };
}
