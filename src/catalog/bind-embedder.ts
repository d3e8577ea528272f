import { randomUUID } from 'node:crypto';
import type { Catalog } from './catalog.ts';
import type { OpenEmbedder } from './embedders.ts';

/**
 * Learned state belongs to one embedder. If the catalog was learned with another one, every live tool is embedded
 * anew and the learner starts from nothing; vectors of two embedders are never mixed. While the vectors are being
 * made the old embedder serves. Answers whether there was anything to lose. @throws EmbedderUnavailableError
 */
export async function bindEmbedder(
  catalog: Pick<Catalog, 'replica' | 'now'>,
  { embedder, documents }: OpenEmbedder,
): Promise<boolean> {
  const fingerprint = embedder?.fingerprint ?? null;
  if (catalog.replica.state.fingerprint === fingerprint) return false;
  // What is put while the others are embedded is embedded in another round; the last one is short.
  const made = new Map<string, Float32Array>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = [...catalog.replica.state.tools.live()].filter(({ hash }) => !made.has(hash));
    if (round > 0 && missing.length === 0) break;
    const vectors = await documents.of(missing);
    for (const [at, { hash }] of missing.entries()) {
      const vector = vectors[at];
      if (vector !== null) made.set(hash, vector);
    }
    if (embedder === null) break;
  }
  const live = [...catalog.replica.state.tools.live()];
  await catalog.replica.submit({
    kind: 'embedder',
    key: `embedder/${randomUUID()}`,
    at: catalog.now(),
    fingerprint,
    dimensions: embedder?.dimensions ?? 0,
    vectors: live.flatMap(({ tool, hash }) => {
      const embedding = made.get(hash);
      return embedding === undefined ? [] : [{ name: tool.name, hash, embedding }];
    }),
  });
  return live.length > 0;
}

const MAX_ROUNDS = 8;
