import type { Embedder } from '../retrieval/embedder.ts';
import type { EmbeddingCache } from '../retrieval/embedding-cache.ts';
import { DocumentEmbeddings } from './document-embeddings.ts';

/** Where embedders come from: what is configured, by name. */
export interface EmbedderSources {
  /** What a name stands for; two names for the same have the same answer. @throws UnusableModelError: unknown */
  resolve(name: string): string;
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
    const resolved = this.#sources.resolve(name);
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

  /** Whether this name means that there shall be no embedder. */
  isNone(name: string): boolean {
    try {
      return this.#sources.resolve(name) === 'none';
    } catch {
      return false;
    }
  }

  /** Does `work` when this embedder can be opened, some time later, unless it is not wanted any more by then. */
  whenOpen(name: string, work: () => Promise<void>, isWanted: () => boolean): void {
    let delay = FIRST_RETRY_MS;
    const attempt = (): void => {
      const retry = setTimeout(() => {
        this.#retries.delete(retry);
        if (this.#closed || !isWanted()) return;
        this.get(name)
          .then(work)
          .catch(() => {
            delay = Math.min(2 * delay, LONGEST_RETRY_MS);
            attempt();
          });
      }, delay).unref();
      this.#retries.add(retry);
    };
    attempt();
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
    const cache = await this.#sources.openCache(embedder);
    this.#closers.push(
      () => embedder.close(),
      () => cache.close(),
    );
    const open = { embedder, documents: new DocumentEmbeddings(embedder, cache) };
    this.#byFingerprint.set(embedder.fingerprint, open);
    return open;
  }
}
