import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { EmbeddingCache } from '../models/cache/embedding-cache.ts';
import type { Embedder } from '../models/embedder.ts';
import { denseText } from '../retrieval/document-text.ts';

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
    const texts = tools.map(({ tool }) => denseText(tool));
    const vectors = (await this.#cache?.get(texts)) ?? tools.map(() => null);
    const missing = texts.filter((_, index) => vectors[index] === null);
    if (missing.length === 0) return vectors;
    const fresh = await this.#embedder.embedDocuments(missing);
    await this.#cache?.put(missing, fresh);
    let next = 0;
    return vectors.map((vector) => vector ?? fresh[next++]);
  }
}
