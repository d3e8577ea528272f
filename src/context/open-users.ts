import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ContextStore, SealedUser, UserPlace } from './context-store.ts';
import { type ContextItem, firstExpiry, isLive } from './item.ts';
import { ItemCosines } from './item-cosines.ts';
import { ItemIndex } from './item-index.ts';
import { type ItemRecord, type ItemVectors, noVectors, packItems, unpackItems } from './item-record.ts';
import { Seals, type UserKey } from './seals.ts';
import { openServiceKey } from './service-key.ts';
import { UserExamples } from './training/user-examples.ts';
import { UserSignals } from './user-signals.ts';

/** What is kept of a user, decrypted. */
export interface OpenUser extends ItemRecord {
  readonly place: UserPlace;
  readonly key: UserKey;
  readonly signals: UserSignals;
  /** From then on an item is to be left out, ms since the epoch. */
  readonly expiry: number;
}

/** The same with what routes read of the items. */
export interface IndexedUser extends OpenUser {
  readonly index: ItemIndex;
}

export interface UserChange {
  readonly items?: ItemRecord;
  readonly signals?: UserSignals;
  readonly examples?: UserExamples;
}

interface Cached {
  readonly stamp: string;
  readonly user: IndexedUser;
  readonly bytes: number;
}

/** Users of whom nothing is kept and that are remembered as such: some 200 bytes each. */
const MOST_ABSENT = 20_000;

/**
 * Opens and seals what is kept of users. What was opened stays in memory, the least recently used goes first; whether it is still
 * what is kept says the stamp in the store, with every reading. That nothing is kept of a user is remembered until this process writes
 * something, and no longer than `ContextStore.absenceMs`.
 */
export class OpenUsers {
  readonly #store: ContextStore;
  readonly #secret: string | undefined;
  readonly #mostBytes: number;
  readonly #cosines: ItemCosines;
  #seals: Seals | null = null;
  readonly #cache = new Map<string, Cached>();
  #bytes = 0;
  /** How often something was dropped: what was read before is not kept after it. */
  #drops = 0;
  /** By user: until when nothing is kept, by a steady clock in ms. An entry stands before the reading that it is about, for 0 ms. */
  readonly #absent = new Map<string, { until: number }>();
  #noKeyUntil = 0;

  constructor(store: ContextStore, secret: string | undefined, mostBytes: number, kernels: Kernels) {
    this.#store = store;
    this.#secret = secret;
    this.#mostBytes = mostBytes;
    this.#cosines = new ItemCosines(kernels);
  }

  /** About how much the cache takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the service's key, if there is one, so that the first request need not. @throws Problem unavailable, with a secret that is missing or wrong */
  async openKey(): Promise<void> {
    await this.#opened(false);
  }

  /** Makes the service's key if there is none. @throws Problem unavailable */
  async placeOf(catalog: string, userId: string): Promise<UserPlace> {
    return (await this.#opened(true))!.placeOf(catalog, userId);
  }

  /** Returns null while there is no service's key, so that nothing can be kept of anybody. @throws Problem unavailable */
  async placeIfAny(catalog: string, userId: string): Promise<UserPlace | null> {
    return (await this.#opened(false))?.placeOf(catalog, userId) ?? null;
  }

  /** Without the items whose time is over. Null: nothing is kept. */
  async read(place: UserPlace, now: number): Promise<IndexedUser | null> {
    const name = nameOf(place);
    if ((this.#absent.get(name)?.until ?? 0) > performance.now()) return null;
    const drops = this.#drops;
    const cached = this.#cache.get(name);
    const absence = { until: 0 };
    if (cached === undefined) this.#mayBeAbsent(name, absence);
    const sealed = await this.#store.read(place, cached?.stamp);
    if (sealed === 'same') {
      this.#keep(cached!, drops);
      return this.#live(cached!, now);
    }
    if (sealed === null) {
      this.#evict(name);
      absence.until = performance.now() + this.#store.absenceMs;
      return null;
    }
    if (this.#absent.get(name) === absence) this.#absent.delete(name);
    const user = this.#indexed(opened(place, sealed, await this.#keyOf(place, sealed)));
    const read = { stamp: sealed.stamp, user, bytes: bytesOf(user) };
    this.#keep(read, drops);
    return this.#live(read, now);
  }

  /** What is kept of a user for training; it is not kept in memory. */
  async examples(place: UserPlace): Promise<UserExamples> {
    const sealed = await this.#store.examples(place);
    if (sealed === null) return UserExamples.unpack(null);
    const key = (await this.#opened(true))!.unwrap(place, sealed.key);
    return UserExamples.unpack(key.open('examples', sealed.examples));
  }

  /**
   * Writes what `update` returns (null: nothing), as `ContextStore.change`. What `update` is given is its own.
   * @param signalsOnly items do not change: those in memory are not decrypted again, and ones whose time is over may be missing
   */
  async change(
    place: UserPlace,
    update: (before: OpenUser) => Promise<UserChange | null>,
    { newKey = false, onlyIfKept = false, signalsOnly = false } = {},
  ): Promise<void> {
    const seals = (await this.#opened(true))!;
    const name = nameOf(place);
    const drops = this.#drops;
    this.#absent.delete(name);
    let after: IndexedUser | null = null;
    const changed = this.#store.change(place, async (sealed) => {
      after = null;
      if (sealed === null && onlyIfKept) return null;
      const fresh = sealed === null || newKey ? seals.newKey(place) : null;
      const cached = signalsOnly ? this.#cache.get(name) : undefined;
      const known = cached?.stamp === sealed?.stamp ? cached?.user : undefined;
      const kept = sealed && { sealed, key: known?.key ?? seals.unwrap(place, sealed.key) };
      const before = kept === null ? empty(place, fresh!.key) : opened(place, kept.sealed, kept.key, known);
      const change = await update(before);
      if (change === null) return null;
      const key = fresh?.key ?? before.key;
      const { items, examples } = change;
      const signals = change.signals?.pack();
      const record = items ?? before;
      after = {
        ...{ place, key, items: record.items, vectors: record.vectors },
        // As others read them, who rank the same: packing rounds.
        signals: signals === undefined ? before.signals : UserSignals.unpack(signals),
        expiry: firstExpiry(record.items),
        index:
          items === undefined && known !== undefined ? known.index : new ItemIndex(record, this.#cosines),
      };
      return {
        ...(fresh !== null && { key: fresh.wrapped }),
        ...((items !== undefined || newKey) && { items: key.seal('items', packItems(record)) }),
        ...((signals !== undefined || newKey) && {
          signals: key.seal('signals', signals ?? before.signals.pack()),
        }),
        // Under a new key those of before cannot be opened.
        ...(examples !== undefined && { examples: key.seal('examples', examples.pack()) }),
      };
    });
    // What was read meanwhile may be from before, and a change that fails may have been made all the same.
    const stamp = await changed.finally(() => this.#absent.delete(name));
    if (after !== null && stamp !== null) this.#keep({ stamp, user: after, bytes: bytesOf(after) }, drops);
  }

  /** Keeps nothing in memory of a user who is erased, nor what is being read of them now. */
  drop(place: UserPlace): void {
    this.#drops++;
    this.#evict(nameOf(place));
  }

  /** The same of all users of a catalog that is deleted. */
  dropCatalog(catalog: string): void {
    this.#drops++;
    for (const [name, { user }] of this.#cache) if (user.place.catalog === catalog) this.#evict(name);
  }

  #live({ stamp, user }: Cached, now: number): IndexedUser {
    if (user.expiry > now) return user;
    const rows = user.items.flatMap((item, at) => (isLive(item, now) ? [at] : []));
    const items = rows.map((at) => user.items[at]);
    const vectors = rowsOf(user.vectors, rows);
    const live = this.#indexed({ ...user, items, vectors, expiry: firstExpiry(items) });
    if (this.#cache.get(nameOf(user.place))?.user === user) {
      this.#keep({ stamp, user: live, bytes: bytesOf(live) }, this.#drops);
    }
    return live;
  }

  #indexed(user: OpenUser): IndexedUser {
    return { ...user, index: new ItemIndex(user, this.#cosines) };
  }

  #mayBeAbsent(name: string, absence: { until: number }): void {
    this.#absent.delete(name);
    this.#absent.set(name, absence);
    if (this.#absent.size > MOST_ABSENT) this.#absent.delete(this.#absent.keys().next().value!);
  }

  async #keyOf(place: UserPlace, { key }: SealedUser): Promise<UserKey> {
    return (await this.#opened(true))!.unwrap(place, key);
  }

  /** Keeps it as the one that was used last. @param drops as they were before it was read */
  #keep(cached: Cached, drops: number): void {
    const name = nameOf(cached.user.place);
    if (drops !== this.#drops) return;
    this.#evict(name);
    if (cached.bytes > this.#mostBytes) return;
    this.#cache.set(name, cached);
    this.#bytes += cached.bytes;
    for (const oldest of this.#cache.keys()) {
      if (this.#bytes <= this.#mostBytes) break;
      this.#evict(oldest);
    }
  }

  #evict(name: string): void {
    this.#bytes -= this.#cache.get(name)?.bytes ?? 0;
    this.#cache.delete(name);
  }

  /** Tried again when it failed, and when there was none. */
  async #opened(create: boolean): Promise<Seals | null> {
    if (this.#seals !== null) return this.#seals;
    if (!create && performance.now() < this.#noKeyUntil) return null;
    const key = await openServiceKey(this.#store, this.#secret, create);
    if (key !== null) this.#seals ??= new Seals(key);
    else this.#noKeyUntil = performance.now() + this.#store.absenceMs;
    return this.#seals;
  }
}

const nameOf = ({ catalog, user }: UserPlace): string => `${catalog}/${user}`;

function empty(place: UserPlace, key: UserKey): OpenUser {
  return {
    ...{ place, key, items: [], vectors: noVectors(0), signals: new UserSignals() },
    expiry: Number.POSITIVE_INFINITY,
  };
}

/** @param known its items are those of `sealed` */
function opened(place: UserPlace, sealed: SealedUser, key: UserKey, known?: ItemRecord): OpenUser {
  const items = known === undefined ? sealed.items && key.open('items', sealed.items) : null;
  const signals = sealed.signals && key.open('signals', sealed.signals);
  const user = empty(place, key);
  const record = known ?? (items === null ? user : unpackItems(items));
  return {
    ...{ place, key, items: record.items, vectors: record.vectors },
    signals: signals === null ? user.signals : UserSignals.unpack(signals),
    expiry: firstExpiry(record.items),
  };
}

function rowsOf({ values, scales, ...rest }: ItemVectors, rows: readonly number[]): ItemVectors {
  const { dimensions } = rest;
  const kept = new Int8Array(rows.length * dimensions);
  for (const [to, from] of rows.entries()) {
    kept.set(values.subarray(from * dimensions, (from + 1) * dimensions), to * dimensions);
  }
  return { ...rest, values: kept, scales: Float32Array.from(rows, (row) => scales[row]) };
}

function bytesOf({ items, vectors, signals, index }: IndexedUser): number {
  let bytes = 500 + vectors.values.byteLength + vectors.scales.byteLength + signals.bytes + index.bytes;
  for (const item of items) bytes += itemBytes(item);
  return bytes;
}

/** Two bytes a character, and what objects take, with the number that stands for it. */
function itemBytes({ text, tags = [], categories = [], numbers = {} }: ContextItem): number {
  return 450 + 2 * text.length + 100 * (tags.length + categories.length + Object.keys(numbers).length);
}
