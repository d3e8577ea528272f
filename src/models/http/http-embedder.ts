import { createHash } from 'node:crypto';
import { SharedResults } from '../cache/shared-results.ts';
import { type Embedder, EmbedderUnavailableError } from '../embedder.ts';
import { EmbeddingsClient, type EmbeddingsEndpoint, type TextKind } from './embeddings-client.ts';

const BATCH = 64;
const MAX_CHARACTERS = 8_192;
const CACHED_QUERIES = 1_000;
const MAX_WAITING_CALLS = 1_000;

/** Embeds with an OpenAI-compatible `/v1/embeddings`. Queries are cached, and sent in batches. */
export class HttpEmbedder implements Embedder {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly #client: EmbeddingsClient;
  readonly #cache = new SharedResults<Float32Array>(CACHED_QUERIES);
  /** Queries of one turn of the event loop, which are sent in one request. */
  #gathered: Gathered[] = [];
  #waitingCalls = 0;

  private constructor(client: EmbeddingsClient, dimensions: number, { url, model }: EmbeddingsEndpoint) {
    this.#client = client;
    this.dimensions = dimensions;
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify(['http 1', url, model, dimensions]))
      .digest('hex')
      .slice(0, 32);
  }

  /**
   * Opens the embedder and sends one text, to learn the dimensions.
   * @throws UnusableModelError when it answers, but not with embeddings. @throws EmbedderUnavailableError
   */
  static async open(options: EmbeddingsEndpoint): Promise<HttpEmbedder> {
    const client = new EmbeddingsClient(options);
    try {
      const [vector] = await client.embed(['Read the file and send it by mail.'], 'query', null);
      return new HttpEmbedder(client, vector.length, options);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    if (this.#waitingCalls >= MAX_WAITING_CALLS) {
      throw new EmbedderUnavailableError(`${MAX_WAITING_CALLS} calls are waiting for embeddings already.`);
    }
    this.#client.throwIfClosed();
    this.#waitingCalls++;
    try {
      return await Promise.all(
        texts.map((whole) => {
          const text = whole.slice(0, MAX_CHARACTERS);
          return this.#cache.get(text, () => this.#gather(text), signal);
        }),
      );
    } finally {
      this.#waitingCalls--;
    }
  }

  async embedDocuments(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += BATCH) {
      vectors.push(...(await this.#embed(texts.slice(start, start + BATCH), 'document')));
    }
    return vectors;
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  #gather(text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ text, resolve, reject });
      if (this.#gathered.length === 1) queueMicrotask(() => this.#sendGathered());
    });
  }

  #sendGathered(): void {
    const all = this.#gathered;
    this.#gathered = [];
    for (let start = 0; start < all.length; start += BATCH) {
      const lot = all.slice(start, start + BATCH);
      const texts = lot.map(({ text }) => text);
      this.#embed(texts, 'query').then(
        (vectors) => {
          for (const [at, { resolve }] of lot.entries()) resolve(vectors[at]);
        },
        (error: Error) => {
          for (const { reject } of lot) reject(error);
        },
      );
    }
  }

  /** Embeds the texts that are not empty; most services refuse an empty one. */
  async #embed(texts: readonly string[], kind: TextKind): Promise<Float32Array[]> {
    const cut = texts.map((text) => wellFormed(text.slice(0, MAX_CHARACTERS)));
    const said = cut.filter((text) => text.trim() !== '');
    const vectors = said.length === 0 ? [] : await this.#client.embed(said, kind, this.dimensions);
    let next = 0;
    return cut.map((text) => (text.trim() === '' ? new Float32Array(this.dimensions) : vectors[next++]));
  }
}

interface Gathered {
  readonly text: string;
  resolve(vector: Float32Array): void;
  reject(error: Error): void;
}

/** Replaces lone surrogates, which cutting a text can leave and UTF-8 cannot hold. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
