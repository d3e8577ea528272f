import { setTimeout as pause } from 'node:timers/promises';
import CircuitBreaker from 'opossum';
import { ask, OutgoingError, readText } from '../../outgoing/request.ts';
import { EmbedderUnavailableError, UnusableModelError } from '../embedder.ts';

export type TextKind = 'query' | 'document';

export interface EmbeddingsEndpoint {
  /** Base address of an OpenAI-compatible service, e.g. `https://api.openai.com/v1`; `/embeddings` is appended. */
  readonly url: string;
  readonly model: string;
  /** Sent as `Authorization: Bearer`; undefined: nothing is sent. */
  readonly key?: string;
  /** Dimensions to request from a model that offers a choice; undefined: the model's default. */
  readonly dimensions?: number;
  /** How long a query waits for its vector, ms. Documents wait ten times as long. */
  readonly timeoutMs: number;
  /** Addresses of this machine and its own network may be asked. */
  readonly allowPrivate: boolean;
  /** Pause before the first repetition, ms; it doubles every time. */
  readonly retryMs?: number;
  /** How long the circuit breaker stays open, ms: the service is not asked in that time. */
  readonly restMs?: number;
  /** Called when the circuit breaker opens, and when it closes again. */
  readonly onChange?: (available: boolean, reason: string) => void;
  /** Is called with the number of texts that are sent. */
  readonly onTexts?: (kind: TextKind, count: number) => void;
}

/** 64 vectors of 4,096 numbers. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Attempts for documents. A query has one: retrieval by words is quicker than a second attempt. */
const TRIES = 4;
const RETRY_MS = 250;
const REST_MS = 10_000;
const FAILURES_BEFORE_REST = 3;

/** The connection to a service: retries, timeouts, and a circuit breaker. */
export class EmbeddingsClient {
  readonly #options: EmbeddingsEndpoint;
  readonly #breaker: CircuitBreaker<
    [texts: readonly string[], kind: TextKind, dimensions: number | null],
    Float32Array[]
  >;
  readonly #closing = new AbortController();

  constructor(options: EmbeddingsEndpoint) {
    this.#options = options;
    const restMs = options.restMs ?? REST_MS;
    this.#breaker = new CircuitBreaker(
      (texts: readonly string[], kind: TextKind, dimensions: number | null) =>
        this.#ask(texts, kind, dimensions),
      {
        timeout: false, // the request has its own
        resetTimeout: restMs,
        volumeThreshold: FAILURES_BEFORE_REST,
        errorThresholdPercentage: 50,
        // A request that was refused says nothing about the next one.
        errorFilter: (error: unknown) => error instanceof RefusedError,
      },
    );
    this.#breaker.on('open', () => {
      if (!this.#closed)
        options.onChange?.(false, `${options.url} keeps failing and is not asked for ${restMs} ms`);
    });
    this.#breaker.on('close', () => {
      if (!this.#closed) options.onChange?.(true, `${options.url} answers again`);
    });
  }

  /** @throws EmbedderUnavailableError */
  throwIfClosed(): void {
    if (this.#closed) throw new EmbedderUnavailableError('The embedder has been closed.');
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /**
   * Returns one vector per text.
   * @param dimensions of every vector; null when they are not known yet.
   * @throws EmbedderUnavailableError; UnusableModelError instead when `dimensions` is null
   */
  async embed(texts: readonly string[], kind: TextKind, dimensions: number | null): Promise<Float32Array[]> {
    this.#options.onTexts?.(kind, texts.length);
    for (let attempt = 1; ; attempt++) {
      this.throwIfClosed();
      try {
        return await this.#breaker.fire(texts, kind, dimensions);
      } catch (error) {
        this.throwIfClosed();
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

  async #ask(texts: readonly string[], kind: TextKind, dimensions: number | null): Promise<Float32Array[]> {
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

/** The service refused the request, so that repeating it does not help. */
class RefusedError extends OutgoingError {}

function hintFor(status: number): string {
  if (status === 401 || status === 403) return ': see BANDOLIER_EMBEDDINGS_KEY';
  if (status === 404) return ': is this the base address of an OpenAI-compatible service, and its model?';
  return '';
}

/**
 * Reads the answer of an OpenAI-compatible `/embeddings`: unit vectors in the order of the texts, or all zero.
 * @param dimensions of every vector; null: any number, the same for each.
 * @throws OutgoingError that says what is wrong with the answer
 */
export function readEmbeddings(body: string, count: number, dimensions: number | null): Float32Array[] {
  const { data } = parse(body) as { data?: unknown };
  if (!Array.isArray(data)) throw fault('its answer has no list "data"');
  if (data.length !== count) throw fault(`it gave ${data.length} embeddings for ${count} texts`);
  const vectors: (Float32Array | undefined)[] = new Array(count).fill(undefined);
  for (const [at, item] of data.entries()) {
    const index = item?.index ?? at;
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index] !== undefined) {
      throw fault('the embeddings in its answer are not numbered from 0 on');
    }
    vectors[index] = unitVector(item?.embedding, dimensions ?? vectors.find(Boolean)?.length ?? null);
  }
  return vectors as Float32Array[];
}

function parse(body: string): object {
  if (body.trim() === '') throw fault('its answer is empty');
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === 'object' && json !== null) return json;
  } catch {
    // reported below
  }
  const looksLikePage = /^\s*</.test(body);
  throw fault(looksLikePage ? 'it answered with a web page instead of JSON' : 'its answer is not JSON');
}

function unitVector(values: unknown, dimensions: number | null): Float32Array {
  if (!Array.isArray(values) || values.length === 0)
    throw fault('an embedding in its answer is no list of numbers');
  if (dimensions !== null && values.length !== dimensions) {
    throw fault(`it gave ${values.length} dimensions instead of ${dimensions}`);
  }
  if (!values.every((value) => typeof value === 'number' && Number.isFinite(value))) {
    throw fault('an embedding in its answer has an element that is no number');
  }
  const length = Math.hypot(...values);
  if (!Number.isFinite(length)) throw fault('an embedding in its answer has infinite length');
  return Float32Array.from(values, (value) => (length > 0 ? value / length : 0));
}

function fault(message: string): OutgoingError {
  return new OutgoingError(message, false);
}
