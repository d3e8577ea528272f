import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { isStoreAway } from '../../errors/store-errors.ts';
import { every, type Repeated } from '../../scheduling/every.ts';
import type { ContextModelStore } from './context-model-store.ts';

export interface ContextModelsParts {
  readonly store: ContextModelStore;
  /** The model in the package, for catalogs that have none of their own. */
  readonly shipped: ContextRanker;
  readonly catalogs: { all(): readonly { readonly name: string }[] };
  onError(message: string, error: unknown): void;
}

/** How soon a model that another process has trained or removed is noticed. */
const LOOK_EVERY_MS = 1_000;

interface KnownModel {
  readonly version: string;
  /** Null: it cannot be read here. */
  readonly ranker: ContextRanker | null;
}

/** Which model ranks the context of a catalog's users: its own, or the one in the package. New ones are taken up within a second. */
export class ContextModels {
  readonly shipped: ContextRanker;
  readonly #parts: ContextModelsParts;
  readonly #known = new Map<string, KnownModel>();
  /** By catalog: why its model could not be read the last time. */
  readonly #unread = new Map<string, string>();
  readonly #looks: Repeated;

  constructor(parts: ContextModelsParts) {
    this.#parts = parts;
    this.shipped = parts.shipped;
    const { onError } = parts;
    this.#looks = every(LOOK_EVERY_MS, () => this.#lookAtAll(), {
      onError: (error) => onError('models of context could not be looked at', error),
    });
  }

  rankerOf(catalog: string): ContextRanker {
    return this.#known.get(catalog)?.ranker ?? this.shipped;
  }

  /** Takes up what is new in any catalog. Never rejects. */
  look(): Promise<void> {
    return this.#looks.now();
  }

  /** Takes up what is new in this catalog. @throws what the store throws */
  async lookAt(catalog: string): Promise<void> {
    const version = await this.#parts.store.modelVersion(catalog);
    if (version === null) this.#known.delete(catalog);
    if (version === null || this.#known.get(catalog)?.version === version) return;
    const bytes = await this.#parts.store.model(catalog);
    if (bytes !== null) this.#known.set(catalog, { version, ranker: this.#decoded(catalog, bytes) });
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  async #lookAtAll(): Promise<void> {
    const names = this.#parts.catalogs.all().map(({ name }) => name);
    for (const known of [this.#known, this.#unread]) {
      for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    }
    for (const name of names) {
      try {
        await this.lookAt(name);
        this.#unread.delete(name);
      } catch (error) {
        this.#reportOnce(name, error);
      }
    }
  }

  /** Until it can be read the model that is known goes on. That a store is away is said where it fails requests. */
  #reportOnce(catalog: string, error: unknown): void {
    const why = String(error);
    if (isStoreAway(error) || this.#unread.get(catalog) === why) return;
    this.#unread.set(catalog, why);
    this.#parts.onError(
      `the model of context of catalog "${catalog}" cannot be read, which is tried again`,
      error,
    );
  }

  #decoded(catalog: string, bytes: Buffer): ContextRanker | null {
    const { embedder } = this.shipped;
    try {
      const ranker = ContextRanker.decode(bytes);
      if (ranker.embedder === embedder) return ranker;
      throw new Error(
        `It was trained with embedder "${ranker.embedder}", and this is "${embedder}": train it anew.`,
      );
    } catch (error) {
      const message = `the model of context of catalog "${catalog}" cannot be used, and the one in the package is`;
      this.#parts.onError(message, error);
      return null;
    }
  }
}
