import { setImmediate } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
import type { UserPlace } from './context-store.ts';
import type { ContextItem } from './item.ts';
import {
  type ItemRecord,
  type ItemVectors,
  noVectors,
  textsWithoutVector,
  vectorsOf,
} from './item-record.ts';
import type { OpenUser, OpenUsers } from './open-users.ts';

/** Texts, and characters of texts, that are embedded between two looks at the signal; others are served in between. */
const [AT_ONCE, CHARACTERS_AT_ONCE] = [64, 16_384];
/** Users who wait for vectors; others are looked at again when they are loaded again. */
const MOST_WAITING = 1_000;

/**
 * Vectors of items, made by the embedder of the catalog. They say what texts say, so that they are kept with them and encrypted, and
 * not in the cache of embeddings.
 */
export class ItemEmbedding {
  readonly #parts: { readonly catalogs: Catalogs; onError(message: string, error: unknown): void };
  readonly #users: OpenUsers;
  readonly #waiting = new Map<string, UserPlace>();
  #working: Promise<void> | null = null;
  #isClosed = false;

  constructor(
    parts: { readonly catalogs: Catalogs; onError(message: string, error: unknown): void },
    users: OpenUsers,
  ) {
    this.#parts = parts;
    this.#users = users;
  }

  /**
   * Returns the vectors of items: those there were, and new ones. If the embedder cannot be asked, new items have none until it can.
   * @param made what was embedded before for the same request, by text; what is embedded now is added
   */
  async of(
    { embedder }: Catalog,
    items: readonly ContextItem[],
    before: ItemRecord,
    made: Map<string, Float32Array>,
    signal?: AbortSignal,
  ): Promise<ItemVectors> {
    if (embedder === null) return this.kept(items, before);
    const missing = textsWithoutVector(items, before, embedder.fingerprint).filter((text) => !made.has(text));
    try {
      for (const texts of batchesOf(missing)) {
        signal?.throwIfAborted();
        const vectors = await embedder.embedDocuments(texts);
        for (const [at, text] of texts.entries()) made.set(text, vectors[at]);
        await setImmediate();
      }
    } catch (error) {
      if (!(error instanceof EmbedderUnavailableError)) throw error;
    }
    return vectorsOf(items, embedder, made, before);
  }

  /** Those there were, for items among which none is new. */
  kept(items: readonly ContextItem[], before: ItemRecord): ItemVectors {
    const { fingerprint, dimensions } = before.vectors;
    if (fingerprint === null) return noVectors(items.length);
    return vectorsOf(items, { fingerprint, dimensions }, new Map(), before);
  }

  /** Vectors of another embedder than the catalog's are not compared with anything. */
  usable({ embedder }: Catalog, vectors: ItemVectors, items: number): ItemVectors {
    return vectors.fingerprint === (embedder?.fingerprint ?? null) ? vectors : noVectors(items);
  }

  /** Has the vectors of a user made in the background if some are missing, one user after the other. */
  look({ name, embedder }: Catalog, { place, vectors }: OpenUser): void {
    if (embedder === null || this.#waiting.size >= MOST_WAITING) return;
    if (vectors.fingerprint === embedder.fingerprint && !vectors.scales.includes(0)) return;
    this.#waiting.set(`${name}/${place.user}`, place);
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
  }

  async #work(): Promise<void> {
    for (const [name, place] of this.#waiting) {
      this.#waiting.delete(name);
      if (this.#isClosed) return;
      const catalog = this.#parts.catalogs.find(place.catalog);
      if (catalog === undefined) continue;
      const made = new Map<string, Float32Array>();
      try {
        await this.#users.change(
          place,
          async (before) => {
            const vectors = await this.of(catalog, before.items, before, made);
            return made.size === 0 ? null : { items: { items: before.items, vectors } };
          },
          { onlyIfKept: true },
        );
      } catch (error) {
        this.#parts.onError('vectors of what a user has could not be made', error);
      }
    }
  }
}

function* batchesOf(texts: readonly string[]): Generator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (batch.length > 0 && (batch.length === AT_ONCE || characters + text.length > CHARACTERS_AT_ONCE)) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(text);
    characters += text.length;
  }
  if (batch.length > 0) yield batch;
}
