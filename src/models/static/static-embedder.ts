import { inSlices, mapInSteps } from '../../scheduling/slices.ts';
import { type Embedder, type EmbedderListeners, EmbedderUnavailableError } from '../embedder.ts';
import type { StaticModel } from './static-model.ts';

/** The model reads at most 510 tokens; what lies beyond these characters would only cost time. */
const MAX_CHARACTERS = 8_192;

/**
 * Embeds with a static model, in process. There is nothing to wait for and nothing to cache: a usual query takes less time
 * than a message to a thread. Lists of many texts are embedded in slices, so that others have their turns.
 */
export class StaticEmbedder implements Embedder {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly isInstant = true;
  readonly #model: StaticModel;
  readonly #listeners: EmbedderListeners;
  #closed = false;

  constructor(model: StaticModel, listeners: EmbedderListeners = {}) {
    this.dimensions = model.dimensions;
    this.fingerprint = model.fingerprint;
    this.#model = model;
    this.#listeners = listeners;
  }

  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.#embed('query', texts, signal);
  }

  embedDocuments(texts: readonly string[]): Promise<Float32Array[]> {
    return this.#embed('document', texts);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async #embed(
    kind: 'query' | 'document',
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    this.#listeners.onTexts?.(kind, texts.length);
    const embedOne = (text: string): Float32Array => {
      signal?.throwIfAborted();
      if (this.#closed) throw new EmbedderUnavailableError('The embedder has been closed.');
      return this.#model.embed(text.length > MAX_CHARACTERS ? text.slice(0, MAX_CHARACTERS) : text);
    };
    return inSlices(mapInSteps(texts, embedOne));
  }
}
