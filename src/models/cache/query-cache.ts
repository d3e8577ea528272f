interface CachedQuery {
  readonly vector: Promise<Float32Array>;
  readonly stop: AbortController;
  /** Number of callers that have not given up. */
  callers: number;
}

/** Keeps the embeddings of the latest queries. Calls for a query that is being embedded share the result. */
export class QueryCache {
  readonly #limit: number;
  readonly #embed: (text: string, stop: AbortSignal) => Promise<Float32Array>;
  /** In order of last use. */
  readonly #queries = new Map<string, CachedQuery>();

  /** @param embed may reject when `stop` aborts: no caller wants the vector any more. */
  constructor(limit: number, embed: (text: string, stop: AbortSignal) => Promise<Float32Array>) {
    this.#limit = limit;
    this.#embed = embed;
  }

  async get(text: string, signal?: AbortSignal): Promise<Float32Array> {
    const query = this.#queries.get(text) ?? this.#begin(text);
    this.#queries.delete(text);
    this.#queries.set(text, query);
    for (const oldest of this.#queries.keys()) {
      if (this.#queries.size <= this.#limit) break;
      this.#queries.delete(oldest);
    }
    query.callers++;
    const giveUp = (): void => {
      if (--query.callers > 0) return;
      this.#forget(text, query);
      query.stop.abort(signal?.reason);
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      return await query.vector;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  }

  #begin(text: string): CachedQuery {
    const stop = new AbortController();
    const query = { vector: this.#embed(text, stop.signal), stop, callers: 0 };
    query.vector.catch(() => this.#forget(text, query));
    return query;
  }

  #forget(text: string, query: CachedQuery): void {
    if (this.#queries.get(text) === query) this.#queries.delete(text);
  }
}
