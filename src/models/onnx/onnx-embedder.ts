import { SharedResults } from '../cache/shared-results.ts';
import { type Embedder, EmbedderUnavailableError } from '../embedder.ts';
import { EmbedThread, type EmbedThreadOptions } from './embed-thread.ts';

export interface OnnxEmbedderOptions extends EmbedThreadOptions {
  /** Query embeddings that are kept. */
  readonly cachedQueries?: number;
}

/** A model reads at most 512 tokens; what lies beyond these characters would only cost time. */
const MAX_CHARACTERS = 8_192;
const CACHED_QUERIES = 1_000;
/** More callers than these are turned away, so that under overload BM25 answers at once instead of too late. */
const MAX_WAITING_CALLS = 1_000;

/** Embeds with an ONNX model from a folder, in a thread of its own. */
export class OnnxEmbedder implements Embedder {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly #thread: EmbedThread;
  readonly #cache: SharedResults<Float32Array>;
  #waitingCalls = 0;

  private constructor(thread: EmbedThread, cachedQueries: number) {
    this.dimensions = thread.dimensions;
    this.fingerprint = thread.fingerprint;
    this.#thread = thread;
    this.#cache = new SharedResults(cachedQueries);
  }

  /** @throws UnusableModelError when the folder holds no model that can be used. */
  static async open(options: OnnxEmbedderOptions): Promise<OnnxEmbedder> {
    return new OnnxEmbedder(await EmbedThread.open(options), options.cachedQueries ?? CACHED_QUERIES);
  }

  /** False while the thread is being restarted. */
  get available(): boolean {
    return this.#thread.available;
  }

  /** The vectors are shared with the cache: do not write to them. */
  async embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    if (this.#waitingCalls >= MAX_WAITING_CALLS) {
      throw new EmbedderUnavailableError(`${MAX_WAITING_CALLS} calls are waiting for embeddings already.`);
    }
    this.#waitingCalls++;
    try {
      return await Promise.all(
        texts.map((whole) => {
          const text = whole.slice(0, MAX_CHARACTERS);
          return this.#cache.get(text, (stop) => this.#thread.embed(text, 'query', stop), signal);
        }),
      );
    } finally {
      this.#waitingCalls--;
    }
  }

  embedDocuments(texts: readonly string[]): Promise<Float32Array[]> {
    return Promise.all(texts.map((text) => this.#thread.embed(text.slice(0, MAX_CHARACTERS), 'document')));
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
