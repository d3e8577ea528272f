import { Problem } from '../errors/problem.ts';
import type { BoundEmbedder } from '../ledger/entry.ts';
import type { EmbeddingCache } from '../models/cache/embedding-cache.ts';
import { type Embedder, EmbedderUnavailableError, UnusableModelError } from '../models/embedder.ts';

/** Texts that are embedded between two looks at the signal. */
const AT_ONCE = 256;

/** Vectors of the texts of tools and instructions: from the cache on disk where it has them, else from the embedder, and then cached. */
class DocumentEmbeddings {
  readonly #embedder: Embedder | null;
  readonly #cache: EmbeddingCache | null;

  constructor(embedder: Embedder | null, cache: EmbeddingCache | null) {
    this.#embedder = embedder;
    this.#cache = cache;
  }

  /**
   * One vector per text, null for each where there is no embedder. What was embedded is cached as it comes, so
   * that a request which is cancelled and sent again goes on where it was.
   * @throws EmbedderUnavailableError, or the reason of `signal` when that aborts
   */
  async of(texts: readonly string[], signal?: AbortSignal): Promise<readonly (Float32Array | null)[]> {
    if (this.#embedder === null) return texts.map(() => null);
    const vectors = (await this.#cache?.get(texts)) ?? texts.map(() => null);
    const missing = texts.filter((_, index) => vectors[index] === null);
    if (missing.length === 0) return vectors;
    const fresh: Float32Array[] = [];
    for (let start = 0; start < missing.length; start += AT_ONCE) {
      signal?.throwIfAborted();
      const some = missing.slice(start, start + AT_ONCE);
      const embedded = await this.#embedder.embedDocuments(some);
      await this.#cache?.put(some, embedded);
      fresh.push(...embedded);
    }
    let next = 0;
    return vectors.map((vector) => vector ?? fresh[next++]);
  }
}

/** Where embedders come from: what is configured, by name. */
export interface EmbedderSources {
  /** What a catalog keeps for this name, so that it means the same in every process: `default` does not. */
  nameOf(name: string): string;
  /** What a name stands for; two names for the same have the same answer. @throws UnusableModelError: unknown */
  resolve(name: string): string;
  /** The same for a name that a catalog keeps: also a folder that another process was configured with. */
  locate(model: string): string;
  /** Opens what `resolve` answered; null: none at all. @throws UnusableModelError @throws EmbedderUnavailableError */
  open(resolved: string): Promise<Embedder | null>;
  openCache(embedder: Embedder): Promise<EmbeddingCache>;
}

/** An embedder in use, with the cache of what it made. */
export interface OpenEmbedder {
  /** Null: there is none, words decide alone. */
  readonly embedder: Embedder | null;
  readonly documents: DocumentEmbeddings;
}

/** The same with the name that a catalog keeps. */
export interface NamedEmbedder extends OpenEmbedder {
  readonly model: string;
}

/** Name of what the process is configured with. */
export const DEFAULT_EMBEDDER = 'default';

const NONE: OpenEmbedder = { embedder: null, documents: new DocumentEmbeddings(null, null) };
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** The embedders of all catalogs: each is opened when it is first needed, once, and shared. */
export class Embedders {
  readonly #sources: EmbedderSources;
  readonly #opening = new Map<string, Promise<OpenEmbedder>>();
  readonly #byFingerprint = new Map<string, OpenEmbedder>();
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #retries = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(sources: EmbedderSources) {
    this.#sources = sources;
  }

  /** @throws UnusableModelError: unknown, or of no use. @throws EmbedderUnavailableError: not now. */
  async get(name: string): Promise<OpenEmbedder> {
    return this.#get(this.#sources.resolve(name));
  }

  /** The name that a catalog keeps for this one. */
  nameOf(name: string): string {
    return this.#sources.nameOf(name);
  }

  /**
   * Opens what made these vectors: what is configured, if it is that, else what has its name.
   * @throws EmbedderUnavailableError when neither of them is it.
   */
  async find({ model, fingerprint }: BoundEmbedder): Promise<NamedEmbedder> {
    const reasons: string[] = [];
    for (const name of [DEFAULT_EMBEDDER, model ?? DEFAULT_EMBEDDER]) {
      try {
        const isDefault = name === DEFAULT_EMBEDDER;
        const open = await this.#get(isDefault ? this.#sources.resolve(name) : this.#sources.locate(name));
        if ((open.embedder?.fingerprint ?? null) === fingerprint) {
          return { model: this.nameOf(name), ...open };
        }
        reasons.push(`"${this.nameOf(name)}" is another one here.`);
      } catch (error) {
        reasons.push((error as Error).message);
      }
    }
    throw new EmbedderUnavailableError(
      `The embedding model "${model}" with the fingerprint ${fingerprint} cannot be opened here: ${[...new Set(reasons)].join(' ')}`,
    );
  }

  async #get(resolved: string): Promise<OpenEmbedder> {
    const known = this.#opening.get(resolved);
    if (known !== undefined) return known;
    const opening = this.#open(resolved);
    this.#opening.set(resolved, opening);
    // What failed once may be tried again.
    opening.catch(() => this.#opening.delete(resolved));
    return opening;
  }

  /** The open embedder that made vectors of this fingerprint; none for null. @returns null where it is not open. */
  of(fingerprint: string | null): OpenEmbedder | null {
    return fingerprint === null ? NONE : (this.#byFingerprint.get(fingerprint) ?? null);
  }

  /** Does `work` some time later, again and again until it succeeds, unless it is not wanted any more by then. */
  tryAgain(work: () => Promise<void>, isWanted: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      let delay = FIRST_RETRY_MS;
      const attempt = (): void => {
        const retry = setTimeout(() => {
          this.#retries.delete(retry);
          if (this.#closed || !isWanted()) return resolve();
          work().then(resolve, () => {
            delay = Math.min(2 * delay, LONGEST_RETRY_MS);
            attempt();
          });
        }, delay).unref();
        this.#retries.add(retry);
      };
      attempt();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const retry of this.#retries) clearTimeout(retry);
    await Promise.allSettled(this.#opening.values());
    for (const close of this.#closers) await close();
  }

  async #open(resolved: string): Promise<OpenEmbedder> {
    const embedder = await this.#sources.open(resolved);
    if (embedder === null) return NONE;
    const cache = await this.#sources.openCache(embedder).catch(async (error) => {
      await embedder.close();
      throw error;
    });
    this.#closers.push(
      () => embedder.close(),
      () => cache.close(),
    );
    const open = { embedder, documents: new DocumentEmbeddings(embedder, cache) };
    this.#byFingerprint.set(embedder.fingerprint, open);
    return open;
  }
}

/** Turns what is wrong with a model that a request names into a `Problem`. @throws Problem validation-failed, unavailable */
export async function refusingUnusable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableModelError) {
      const violations = [{ path: 'embedder', message: error.message }];
      const fix = 'Name one that can be used; the catalog goes on with what it has.';
      throw new Problem('validation-failed', error.message, fix, { violations, cause: error });
    }
    if (!(error instanceof EmbedderUnavailableError)) throw error;
    throw new Problem('unavailable', error.message, 'Try again when it answers.', {
      retryAfterSeconds: 10,
      cause: error,
    });
  }
}
