/** Turns texts into unit vectors. Implementations own their threads and connections. */
export interface Embedder {
  readonly dimensions: number;
  /** Changes whenever the same text could give another vector: model, tokenizer, prefix, normalisation. */
  readonly fingerprint: string;
  /**
   * One vector per text, each of length `dimensions`, unit length, or all zero for a text without known tokens.
   * @param signal aborts when the caller gives up: texts that were not given to the model yet are left out, and it may reject.
   */
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  embedDocuments(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** No vector can be had now; the router goes on with BM25 alone. */
export class EmbedderUnavailableError extends Error {
  override readonly name = 'EmbedderUnavailableError';
}

/** A model folder that cannot be used; the message says what is wrong with it and what to do. */
export class UnusableModelError extends Error {
  override readonly name = 'UnusableModelError';
}
