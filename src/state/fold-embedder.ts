import type { EmbedderEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldOutcome } from './outcome.ts';

/** Another embedder: new vectors, new learners. Nothing of two embedders is ever mixed. */
export function foldEmbedder(state: CatalogState, entry: EmbedderEntry): FoldOutcome {
  const vectors = new Map(entry.vectors.map((vector) => [vector.name, vector]));
  state.fingerprint = entry.fingerprint;
  state.tools.replaceVectors(entry.dimensions, ({ tool, hash }) => {
    const vector = vectors.get(tool.name);
    return vector?.hash === hash ? vector.embedding : null;
  });
  state.decisions.clear();
  const slots = [...state.tools.records()].map((record) => record.slot);
  state.learners.startAnew(state.tools.vectors, slots);
  return { kind: 'embedder' };
}
