import type { EmbedderEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import { endExperiments } from './end-experiment.ts';
import type { FoldOutcome } from './outcome.ts';

/** Another embedder: new vectors, new learners. Nothing of two embedders is ever mixed. */
export function foldEmbedder(state: CatalogState, entry: EmbedderEntry): FoldOutcome {
  // Several processes that start at once all bind the same embedder.
  if (entry.fingerprint === state.fingerprint && entry.dimensions === state.tools.vectors.dimensions) {
    return { kind: 'embedder' };
  }
  const vectors = new Map(entry.vectors.map((vector) => [vector.name, vector]));
  state.fingerprint = entry.fingerprint;
  state.tools.replaceVectors(entry.dimensions, ({ tool, hash }) => {
    const vector = vectors.get(tool.name);
    return vector?.hash === hash ? vector.embedding : null;
  });
  state.decisions.clear();
  endExperiments(state, 'Another embedding model came: nothing learned before can be compared with it.');
  state.learners.startAnew(state.tools.vectors, state.slots());
  return { kind: 'embedder' };
}
