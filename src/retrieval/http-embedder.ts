import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import CircuitBreaker from 'opossum';
import { ask, OutgoingError, readText } from '../outgoing/request.ts';
import { type Embedder, EmbedderUnavailableError, UnusableModelError } from './embedder.ts';
import { readEmbeddings } from './embeddings-answer.ts';
import { QueryCache } from './query-cache.ts';

export interface HttpEmbedderOptions {
  /** Base address of an OpenAI-compatible service, e.g. `https://api.openai.com/v1`; `/embeddings` is appended. */
  readonly url: string;
  readonly model: string;
  /** Sent as `Authorization: Bearer`; undefined: nothing is sent. */
  readonly key?: string;
  /** What to ask for, where the model offers a choice; undefined: what it gives by itself. */
  readonly dimensions?: number;
  /** How long a query waits for its vector, ms. Documents wait ten times as long. */
  readonly timeoutMs: number;
  /** Addresses of this machine and its own network may be asked. */
  readonly allowPrivate: boolean;
  /** Pause before the first repetition, ms; it doubles every time. */
  readonly retryMs?: number;
  /** How long the service is left alone when it keeps failing, ms. */
  readonly restMs?: number;
  /** Hears when it is left alone, and when it is back. */
  readonly onChange?: (available: boolean, reason: string) => void;
  /** Hears how many texts are sent. */
  readonly onTexts?: (kind: 'query' | 'document', count: number) => void;
}

const BATCH = 64;
const MAX_CHARACTERS = 8_192;
/** 64 vectors of 4,096 numbers. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const CACHED_QUERIES = 1_000;
const MAX_WAITING_CALLS = 1_000;
/** Documents are tried so often; a query once: words answer sooner than a second try. */
const TRIES = 4;
const RETRY_MS = 250;
const REST_MS = 10_000;
const FAILURES_BEFORE_REST = 3;
const CLOSED = 'The embedder has been closed.';

type Kind = 'query' | 'document';

/** Embeds by asking an OpenAI-compatible `/v1/embeddings`. While that keeps failing it is left alone for a while. */
export class HttpEmbedder implements Embedder {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly #client: EmbeddingsClient;
  readonly #cache: QueryCache;
  /** Queries of one turn of the event loop travel together. */
  #gathered: Gathered[] = [];
  #waitingCalls = 0;

  private constructor(client: EmbeddingsClient, dimensions: number, { url, model }: HttpEmbedderOptions) {
    this.#client = client;
    this.dimensions = dimensions;
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify(['http 1', url, model, dimensions]))
      .digest('hex')
      .slice(0, 32);
    this.#cache = new QueryCache(CACHED_QUERIES, (text) => this.#gather(text));
  }

  /**
   * Asks once, to see what comes.
   * @throws UnusableModelError when it answers, but not with embeddings. @throws EmbedderUnavailableError
   */
  static async open(options: HttpEmbedderOptions): Promise<HttpEmbedder> {
    const client = new EmbeddingsClient(options);
    try {
      const [vector] = await client.embed(['Read the file and send it by mail.'], 'query', null);
      return new HttpEmbedder(client, vector.length, options);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async embedQueries(texts: readonly string[]): Promise<Float32Array[]> {
    if (this.#waitingCalls >= MAX_WAITING_CALLS) {
      throw new EmbedderUnavailableError(`${MAX_WAITING_CALLS} calls are waiting for embeddings already.`);
    }
    if (this.#client.closed) throw new EmbedderUnavailableError(CLOSED);
    this.#waitingCalls++;
    try {
      return await Promise.all(texts.map((text) => this.#cache.get(text.slice(0, MAX_CHARACTERS))));
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

  /** An empty text means nothing, and most services refuse it. */
  async #embed(texts: readonly string[], kind: Kind): Promise<Float32Array[]> {
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

/** The connection: tries, deadlines, and the breaker. */
class EmbeddingsClient {
  readonly #options: HttpEmbedderOptions;
  readonly #breaker: CircuitBreaker<
    [texts: readonly string[], kind: Kind, dimensions: number | null],
    Float32Array[]
  >;
  readonly #closing = new AbortController();

  constructor(options: HttpEmbedderOptions) {
    this.#options = options;
    const restMs = options.restMs ?? REST_MS;
    this.#breaker = new CircuitBreaker(
      (texts: readonly string[], kind: Kind, dimensions: number | null) => this.#ask(texts, kind, dimensions),
      {
        timeout: false, // the request has its own
        resetTimeout: restMs,
        volumeThreshold: FAILURES_BEFORE_REST,
        errorThresholdPercentage: 50,
        // What is wrong with one request says nothing about the next.
        errorFilter: (error: unknown) => error instanceof RefusedError,
      },
    );
    this.#breaker.on('open', () => {
      if (!this.closed)
        options.onChange?.(false, `${options.url} keeps failing: left alone for ${restMs} ms`);
    });
    this.#breaker.on('close', () => {
      if (!this.closed) options.onChange?.(true, `${options.url} answers again`);
    });
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /**
   * @param dimensions what every vector must have; null: whatever comes.
   * @throws EmbedderUnavailableError, or UnusableModelError if what comes is not yet known to be usable.
   */
  async embed(texts: readonly string[], kind: Kind, dimensions: number | null): Promise<Float32Array[]> {
    this.#options.onTexts?.(kind, texts.length);
    for (let attempt = 1; ; attempt++) {
      if (this.closed) throw new EmbedderUnavailableError(CLOSED);
      try {
        return await this.#breaker.fire(texts, kind, dimensions);
      } catch (error) {
        if (this.closed) throw new EmbedderUnavailableError(CLOSED);
        const again = error instanceof OutgoingError && error.passing && kind === 'document';
        if (!again || attempt === TRIES) throw this.#described(error, dimensions === null);
        const delay = (this.#options.retryMs ?? RETRY_MS) * 2 ** (attempt - 1);
        await pause(delay, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
  }

  close(): void {
    this.#closing.abort();
    this.#breaker.shutdown();
  }

  async #ask(texts: readonly string[], kind: Kind, dimensions: number | null): Promise<Float32Array[]> {
    const { url, model, key, timeoutMs, allowPrivate, dimensions: wanted } = this.#options;
    const response = await ask(`${url.replace(/\/+$/, '')}/embeddings`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model,
        input: texts,
        encoding_format: 'float',
        ...(wanted === undefined ? {} : { dimensions: wanted }),
      }),
      timeoutMs: kind === 'query' ? timeoutMs : 10 * timeoutMs,
      allowPrivate,
      signal: this.#closing.signal,
    });
    const status = response.statusCode ?? 0;
    if (status !== 200) {
      response.destroy();
      const passing = status === 408 || status === 429 || status >= 500;
      if (passing) throw new OutgoingError(`it answered ${status}`, true);
      throw new RefusedError(`it answered ${status}${hintFor(status)}`, false);
    }
    return readEmbeddings(
      await readText(response, MAX_ANSWER_BYTES),
      texts.length,
      dimensions ?? wanted ?? null,
    );
  }

  #described(error: unknown, isFirst: boolean): Error {
    const { url, model } = this.#options;
    const why = error instanceof Error ? error.message : String(error);
    const message = `Embeddings of ${model} from ${url}: ${why}.`;
    const isPassing = !(error instanceof OutgoingError) || error.passing;
    return isFirst && !isPassing
      ? new UnusableModelError(message, { cause: error })
      : new EmbedderUnavailableError(message, { cause: error });
  }
}

/** The service understood and said no. */
class RefusedError extends OutgoingError {}

function hintFor(status: number): string {
  if (status === 401 || status === 403) return ': see BANDOLIER_EMBEDDINGS_KEY';
  if (status === 404) return ': is this the base address of an OpenAI-compatible service, and its model?';
  return '';
}

/** Halves of characters, which a cut can leave behind, are no UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
