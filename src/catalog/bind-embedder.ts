import { randomUUID } from 'node:crypto';
import type { EmbedderEntry } from '../ledger/entry.ts';
import { Problem } from '../problem.ts';
import type { EmbedderOutcome } from '../state/outcome.ts';
import type { Catalog } from './catalog.ts';
import type { NamedEmbedder } from './embedders.ts';

/** How often tools that came or changed meanwhile are embedded as well; the last rounds are short. */
const MAX_ROUNDS = 16;

/**
 * Moves a catalog to an embedder: all live tools are embedded, then an entry says so, and the fold sees to it that
 * none is missing. Until then the one before serves. @throws EmbedderUnavailableError @throws Problem
 */
export async function bindEmbedder(
  catalog: Pick<Catalog, 'name' | 'replica' | 'now'>,
  { model, embedder, documents }: NamedEmbedder,
  how: Pick<EmbedderEntry, 'first' | 'version' | 'actor'>,
): Promise<EmbedderOutcome> {
  const { replica } = catalog;
  const made = new Map<string, Float32Array>();
  const fingerprint = embedder?.fingerprint ?? null;
  const isNew = (): boolean => replica.state.fingerprint !== fingerprint;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const live = isNew() ? [...replica.state.tools.live()] : [];
    const missing = embedder === null ? [] : live.filter(({ hash }) => !made.has(hash));
    if (missing.length > 0) {
      const vectors = await documents.of(missing);
      for (const [at, { hash }] of missing.entries()) made.set(hash, vectors[at]!);
      continue;
    }
    const outcome = await replica.submit({
      kind: 'embedder',
      key: `embedder/${randomUUID()}`,
      at: catalog.now(),
      ...how,
      model,
      fingerprint,
      dimensions: embedder?.dimensions ?? 0,
      vectors: live.flatMap(({ tool, hash }) => {
        const embedding = made.get(hash);
        return embedding === undefined ? [] : [{ name: tool.name, hash, embedding }];
      }),
    });
    if (outcome.kind === 'embedder') return outcome;
    if (outcome.kind === 'embedder-refused' && outcome.reason !== 'stale') return outcome;
  }
  throw new Problem(
    'unavailable',
    `The tools of catalog "${catalog.name}" kept changing while they were being embedded.`,
    'Try again in a moment; the catalog goes on with the model that it has.',
    { retryAfterSeconds: 1 },
  );
}
