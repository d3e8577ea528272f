import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { denseText } from '../retrieval/document-text.ts';
import type { Embedder } from '../retrieval/embedder.ts';
import type { EmbeddingCache } from '../retrieval/embedding-cache.ts';

/** Vectors of definitions: from the cache on disk where it has them, else from the embedder, and then cached. */
export class DocumentEmbeddings {
  readonly #embedder: Embedder | null;
  readonly #cache: EmbeddingCache | null;

  constructor(embedder: Embedder | null, cache: EmbeddingCache | null) {
    this.#embedder = embedder;
    this.#cache = cache;
  }

  /** One vector per definition, null for each where there is no embedder. @throws EmbedderUnavailableError */
  async of(
    tools: readonly { readonly tool: ToolDefinition; readonly hash: string }[],
  ): Promise<readonly (Float32Array | null)[]> {
    if (this.#embedder === null) return tools.map(() => null);
    const vectors = tools.map(({ hash }) => this.#cache?.get(hash) ?? null);
    const missing = tools.filter((_, index) => vectors[index] === null);
    if (missing.length === 0) return vectors;
    const fresh = await this.#embedder.embedDocuments(missing.map(({ tool }) => denseText(tool)));
    await this.#cache?.put(missing.map(({ hash }, index) => ({ hash, vector: fresh[index] })));
    let next = 0;
    return vectors.map((vector) => vector ?? fresh[next++]);
  }
}
