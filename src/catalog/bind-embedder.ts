import { randomUUID } from 'node:crypto';
import type { Embedder } from '../retrieval/embedder.ts';
import type { Catalog } from './catalog.ts';

/**
 * Learned state belongs to one embedder. If the catalog was learned with another one, every live tool is embedded
 * anew and the learner starts from nothing; vectors of two embedders are never mixed. Answers whether it had
 * anything to lose by that.
 */
export async function bindEmbedder(catalog: Catalog, embedder: Embedder | null): Promise<boolean> {
  const { state } = catalog;
  const fingerprint = embedder?.fingerprint ?? null;
  if (state.fingerprint === fingerprint) return false;
  const live = [...state.tools.live()];
  const vectors = await catalog.embedTools(live);
  await catalog.replica.submit({
    kind: 'embedder',
    key: `embedder/${randomUUID()}`,
    at: catalog.now(),
    fingerprint,
    dimensions: embedder?.dimensions ?? 0,
    vectors: live.flatMap(({ tool, hash }, index) => {
      const embedding = vectors[index];
      return embedding === null ? [] : [{ name: tool.name, hash, embedding }];
    }),
  });
  return live.length > 0;
}
