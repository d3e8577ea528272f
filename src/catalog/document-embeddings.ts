import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { EmbeddingCache } from '../models/cache/embedding-cache.ts';
import type { Embedder } from '../models/embedder.ts';
import { denseText } from '../retrieval/document-text.ts';

/** Definitions that are embedded between two looks at the signal. */
const AT_ONCE = 256;

/** Vectors of definitions: from the cache on disk where it has them, else from the embedder, and then cached. */
export class DocumentEmbeddings {
  readonly #embedder: Embedder | null;
  readonly #cache: EmbeddingCache | null;

  constructor(embedder: Embedder | null, cache: EmbeddingCache | null) {
    this.#embedder = embedder;
    this.#cache = cache;
  }

  /**
   * One vector per definition, null for each where there is no embedder. What was embedded is cached as it comes, so
   * that a request which is cancelled and sent again goes on where it was.
   * @throws EmbedderUnavailableError, or the reason of `signal` when that aborts
   */
  async of(
    tools: readonly { readonly tool: ToolDefinition; readonly hash: string }[],
    signal?: AbortSignal,
  ): Promise<readonly (Float32Array | null)[]> {
    if (this.#embedder === null) return tools.map(() => null);
    const texts = tools.map(({ tool }) => denseText(tool));
    const vectors = (await this.#cache?.get(texts)) ?? tools.map(() => null);
    const missing = texts.filter((_, index) => vectors[index] === null);
    if (missing.length === 0) return vectors;
    const fresh: Float32Array[] = [];
    for (let start = 0; start < missing.length; start += AT_ONCE) {
      signal?.throwIfAborted();
      const some = missing.slice(start, start + AT_ONCE);
      const embedded = await this.#embedder.embedDocuments(some);
      await this.#cache?.put(some, embedded);
      fresh.push(...embedded);
    }
    let next = 0;
    return vectors.map((vector) => vector ?? fresh[next++]);
  }
}
