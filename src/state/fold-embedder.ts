import type { EmbedderEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import { endExperiments } from './experiments/end-experiment.ts';
import type { EmbedderOutcome } from './outcome.ts';

/** Another embedder: new vectors, a learner of their own. Nothing of two embedders is ever mixed. */
export function foldEmbedder(state: CatalogState, entry: EmbedderEntry): EmbedderOutcome {
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
    state.tools.replaceVectors(dimensions, ({ tool }) => vectors.get(tool.name) ?? null);
    endExperiments(state, 'Another embedding model came: nothing learned before can be compared with it.');
    state.learners.bind(embedder, state.tools.vectors, state.slots(), version);
  }
  const { active } = state.learners;
  state.settings = { ...state.settings, policy: active.settings };
  const kept = active.version !== before && state.learners.get(before) !== undefined ? before : null;
  return { kind: 'embedder', policyVersion: active.version, kept };
}

/** Tools that came or changed after its sender looked have none. */
function hasAllVectors({ tools }: CatalogState, { fingerprint, vectors }: EmbedderEntry): boolean {
  if (fingerprint === null) return true;
  const hashes = new Map(vectors.map(({ name, hash }) => [name, hash]));
  return [...tools.live()].every(({ tool, hash }) => hashes.get(tool.name) === hash);
}
