/** Turns texts into unit vectors. An implementation opens and closes its own threads and connections. */
export interface Embedder {
  readonly dimensions: number;
  /** Changes whenever the same text could give another vector: model, tokenizer, prefix, normalisation. */
  readonly fingerprint: string;
  /** A query takes microseconds, in this thread: nobody who gives up spares it anything. Absent: false. */
  readonly isInstant?: boolean;
  /**
   * Returns one vector per text with `dimensions` numbers: of unit length, or all zero for a text without known tokens.
   * @param signal aborts when the caller gives up: texts that the model has not been given yet are left out, and it may reject.
   */
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  embedDocuments(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** What an embedder tells its owner. */
export interface EmbedderListeners {
  /** It became available or unavailable. */
  readonly onChange?: (available: boolean, reason: string) => void;
  /** The model is given so many texts. */
  readonly onTexts?: (kind: 'query' | 'document', count: number) => void;
}

/** Thrown when texts cannot be embedded now; the router goes on with BM25 alone. */
export class EmbedderUnavailableError extends Error {
  override readonly name = 'EmbedderUnavailableError';
}

/** Thrown when a model folder cannot be used; the message says what is wrong with it and what to do. */
export class UnusableModelError extends Error {
  override readonly name = 'UnusableModelError';
}
