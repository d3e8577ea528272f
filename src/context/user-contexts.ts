import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { afterOf, firstPage } from '../catalog/page.ts';
import { Problem } from '../errors/problem.ts';
import { allUsers, type ContextStore, type UserPlace } from './context-store.ts';
import { type ErasedUser, Erasures } from './erasures.ts';
import {
  bytesOf,
  type ContextItem,
  type ItemChanges,
  isLive,
  MAX_BYTES,
  MAX_ITEMS,
  mergeItems,
  type StoredItem,
} from './item.ts';
import { ItemEmbedding } from './item-embedding.ts';
import type { ItemIndex } from './item-index.ts';
import type { ItemVectors } from './item-record.ts';
import { type OpenUser, OpenUsers } from './open-users.ts';
import type { UserKey } from './seals.ts';
import { type ExportedExamples, exported, type UserExamples } from './training/user-examples.ts';
import { type ItemsUse, UseRecorder } from './use-recorder.ts';
import type { UserSignals } from './user-signals.ts';

export interface UserContextsParts {
  readonly catalogs: Catalogs;
  readonly store: ContextStore;
  /** The operator's secret, under which the service's key is kept. */
  readonly secret: string | undefined;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
  readonly kernels: Kernels;
  /** Of what is kept decrypted in memory. */
  readonly cacheBytes?: number;
}

const CACHE_BYTES = 64 * 1024 * 1024;

/** What retrieval and ranking read of a user. Nothing of it may be changed. */
export interface LoadedContext {
  /** Those whose time is not over. */
  readonly items: readonly StoredItem[];
  /** Row i is that of item i; `fingerprint` is null, or that of the catalog's embedder. */
  readonly vectors: ItemVectors;
  /** What features of context read of each item; queries are those of the catalog's embedder. Their times are `localSeconds`. */
  readonly signals: Pick<UserSignals, 'of' | 'used' | 'newest' | 'changes'>;
  /** Of the texts. */
  readonly index: ItemIndex;
  readonly place: UserPlace;
  /** For what decisions keep of the user: numbers of items, and what is sealed. */
  readonly key: UserKey;
}

export interface ItemQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly store?: string | undefined;
}

export interface ItemPage {
  readonly items: readonly StoredItem[];
  readonly nextCursor: string | null;
}

/** Everything that can be read of what is held about a user. */
export interface ExportedUser {
  readonly items: readonly StoredItem[];
  readonly usage: readonly ExportedUsage[];
  /** What training reads. */
  readonly training: ExportedExamples;
}

/**
 * How an item was used; a use counts 1 when it happens, and half after 30 days. `lastUsed`, hours and weekdays are of `localSeconds`, the clock of
 * the place where the user was. Counts are those of now in UTC: half a day beside that clock makes 1 %.
 */
export interface ExportedUsage extends Pick<UsageSignals, 'uses' | 'lastUsed'> {
  readonly item: string;
  /** 24, and 7 from Sunday. */
  readonly hours: readonly number[];
  readonly weekdays: readonly number[];
  readonly places: ReadonlyMap<string, number>;
  readonly tools: ReadonlyMap<string, number>;
  readonly items: ReadonlyMap<string, number>;
}

/** What the users of catalogs have, and how they use it. Everything here throws Problem catalog-not-found. */
export class UserContexts {
  readonly #parts: UserContextsParts;
  readonly #users: OpenUsers;
  readonly #embedding: ItemEmbedding;
  readonly #erasures: Erasures;
  readonly #uses: UseRecorder;

  constructor(parts: UserContextsParts) {
    const { store, secret, cacheBytes = CACHE_BYTES, kernels } = parts;
    this.#parts = parts;
    this.#users = new OpenUsers(store, secret, cacheBytes, kernels);
    this.#embedding = new ItemEmbedding(parts, this.#users);
    this.#erasures = new Erasures(parts, this.#users);
    this.#uses = new UseRecorder(this.#users, () => parts.now());
  }

  /** The time by which items end; ms since the epoch. */
  now(): number {
    return this.#parts.now();
  }

  /** Opens the key under which users' items are kept, as `OpenUsers.openKey`. */
  openKey(): Promise<void> {
    return this.#users.openKey();
  }

  /** Puts items, each in the place of the one with its id: all of them or, if it throws, none. @throws Problem too-many-items */
  put(
    catalog: string,
    userId: string,
    put: readonly ContextItem[],
    signal?: AbortSignal,
  ): Promise<ItemChanges> {
    return this.#holding(catalog, async (open) => {
      const place = await this.#users.placeOf(catalog, userId);
      const vectors = new Map<string, Float32Array>();
      let changes: ItemChanges = { added: 0, changed: 0, unchanged: 0, removed: 0 };
      await this.#users.change(place, async (before) => {
        const merged = mergeItems(before.items, put, this.#parts.now());
        changes = merged.changes;
        const { items } = merged;
        if (items.length > MAX_ITEMS) throw tooManyItems(items.length);
        if (changes.added + changes.changed > 0) checkBytes(bytesOf(items));
        if (changes.added + changes.changed + changes.removed === 0) return null;
        return {
          items: { items, vectors: await this.#embedding.of(open, items, before, vectors, signal) },
          ...signalsWithout(before, items),
        };
      });
      return changes;
    });
  }

  /** By id. The cursor is the last id of the page before, so that changes in between do no harm. */
  list(catalog: string, userId: string, { limit, cursor, store }: ItemQuery): Promise<ItemPage> {
    return this.#holding(catalog, async () => {
      const after = afterOf(cursor);
      const { items = [] } = (await this.#read(catalog, userId)) ?? {};
      const rest = items
        .filter((item) => item.id > after && (store === undefined || item.store === store))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
      const { rows, nextCursor } = firstPage(
        rest,
        limit,
        ({ id }) => id,
        ({ text }) => text.length,
      );
      return { items: rows, nextCursor };
    });
  }

  /** Removes one item, or all of them and how they were used; in the second case the user gets a new key. */
  remove(catalog: string, userId: string, id?: string): Promise<{ readonly removed: number }> {
    return this.#holding(catalog, async () => {
      const place = await this.#users.placeIfAny(catalog, userId);
      const now = this.#parts.now();
      const isKept = (item: StoredItem): boolean => id !== undefined && item.id !== id && isLive(item, now);
      const gone = place === null ? [] : await this.#keepOnly(place, isKept, id === undefined);
      return { removed: gone.filter((item) => isLive(item, now)).length };
    });
  }

  /** Deletes from the store the items whose time was over by then, ms since the epoch. */
  async removeExpired(place: UserPlace, by: number): Promise<void> {
    await this.#keepOnly(place, (item) => isLive(item, by));
  }

  export(catalog: string, userId: string): Promise<ExportedUser> {
    return this.#holding(catalog, async () => {
      const user = await this.#read(catalog, userId);
      if (user === null) return { items: [], usage: [], training: exported([]) };
      const usage = user.items.flatMap(({ id }) => {
        const used = user.signals.of(id);
        return used === undefined ? [] : [exportedUsage(id, used, this.#parts.now())];
      });
      const { all } = await this.#users.examples(user.place);
      return { items: user.items, usage, training: exported(all) };
    });
  }

  /** Erases everything that is held about a user, as `Erasures.erase`. */
  erase(catalog: string, userId: string): Promise<ErasedUser> {
    return this.#holding(catalog, (open) => this.#erasures.erase(open, userId));
  }

  /** Keeps nothing in memory of the users of a catalog that was deleted. */
  dropCatalog(catalog: string): void {
    this.#users.dropCatalog(catalog);
  }

  /** Completes the erasures that broke off, as `Erasures.finishAll`. */
  finishErasures(): Promise<void> {
    return this.#erasures.finishAll();
  }

  /**
   * Returns what a user has and how it was used; null: nothing is kept. Vectors that are missing, or that another embedder made, are
   * made in the background, and are there a moment later. @throws Problem unavailable when it cannot be decrypted here
   */
  async load(catalog: string, userId: string): Promise<LoadedContext | null> {
    const place = await this.#users.placeIfAny(catalog, userId);
    return place === null ? null : this.loadPlace(place);
  }

  /** The same, of the user at this place. */
  async loadPlace(place: UserPlace): Promise<LoadedContext | null> {
    const open = this.#parts.catalogs.get(place.catalog);
    const user = await this.#users.read(place, this.#parts.now());
    if (user === null) return null;
    this.#embedding.look(open, user);
    const { key, items, vectors, signals, index } = user;
    signals.compareWith(open.embedder?.fingerprint ?? null);
    return {
      place,
      key,
      items,
      signals,
      index,
      vectors: this.#embedding.usable(open, vectors, items.length),
    };
  }

  /**
   * Adds a use to the signals of a user, durably and once by its key. Uses of one user that come while one is being written are
   * written together. Items that the user does not have do not count, nor users of whom nothing is kept.
   */
  async recordUse(catalog: string, userId: string, use: ItemsUse): Promise<void> {
    const place = await this.#users.placeIfAny(catalog, userId);
    if (place !== null) await this.recordUseAt(place, use);
  }

  /** The same, for the user at this place. */
  recordUseAt(place: UserPlace, use: ItemsUse): Promise<void> {
    return this.#uses.record(place, use);
  }

  /** The users of a catalog of whom something is kept, by the names that stand for them. */
  users(catalog: string): AsyncIterable<string> {
    return allUsers(this.#parts.store, catalog);
  }

  /** What training learns from a user. */
  examples(place: UserPlace): Promise<UserExamples> {
    return this.#users.examples(place);
  }

  /** Resolves when nothing is being made in the background. */
  idle(): Promise<void> {
    return this.#embedding.idle();
  }

  close(): Promise<void> {
    return this.#embedding.close();
  }

  async #read(catalog: string, userId: string): Promise<OpenUser | null> {
    const place = await this.#users.placeIfAny(catalog, userId);
    return place === null ? null : this.#users.read(place, this.#parts.now());
  }

  /** Returns the items that are gone now. Of a user of whom nothing is kept nothing is written. */
  async #keepOnly(
    place: UserPlace,
    isKept: (item: StoredItem) => boolean,
    newKey = false,
  ): Promise<readonly StoredItem[]> {
    let gone: readonly StoredItem[] = [];
    await this.#users.change(
      place,
      async (before) => {
        const items = before.items.filter(isKept);
        gone = before.items.filter((item) => !isKept(item));
        // Who is to have a new key gets it whatever was there: examples are under the old one.
        if (gone.length === 0 && !newKey) return null;
        const vectors = this.#embedding.kept(items, before);
        return { items: { items, vectors }, ...signalsWithout(before, items) };
      },
      { newKey, onlyIfKept: true },
    );
    return gone;
  }

  #holding<T>(catalog: string, work: (open: Catalog) => Promise<T>): Promise<T> {
    return this.#parts.catalogs.holding(catalog, work);
  }
}

function signalsWithout(before: OpenUser, items: readonly ContextItem[]): { signals?: UserSignals } {
  const ids = new Set(items.map(({ id }) => id));
  const isGone = [...before.signals.used()].some((id) => !ids.has(id));
  if (!isGone) return {};
  before.signals.keepOnly(ids);
  return { signals: before.signals };
}

function exportedUsage(item: string, usage: UsageSignals, now: number): ExportedUsage {
  const scale = usage.usesAt(now / 1000) / usage.uses;
  const scaled = (weight: number): number => weight * scale;
  const links = (weights: ReadonlyMap<string, number>) =>
    new Map([...weights].map(([name, weight]) => [name, weight * scale]));
  return {
    ...{ item, uses: usage.uses * scale, lastUsed: usage.lastUsed },
    hours: Array.from(usage.hours, scaled),
    weekdays: Array.from(usage.weekdays, scaled),
    ...{ places: links(usage.places), tools: links(usage.tools), items: links(usage.items) },
  };
}

function checkBytes(bytes: number): void {
  if (bytes <= MAX_BYTES) return;
  throw new Problem(
    'too-many-items',
    `The user would have ${Math.ceil(bytes / 1024)} KB of items in this catalog, and may have ${MAX_BYTES / 1024} KB. None of the request was put.`,
    'Put shorter texts, one fact each, or delete items that are not needed any more.',
  );
}

function tooManyItems(items: number): Problem {
  return new Problem(
    'too-many-items',
    `The user would have ${items} items, and may have ${MAX_ITEMS}. None of the request was put.`,
    'Put fewer, delete some before, or give them a time to live (`ttlSeconds`).',
  );
}
