import type { Catalog } from '../catalog/catalog.ts';
import { forget } from '../catalog/tools.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { unitKey, unitNumber } from '../ledger/unit.ts';
import type { ContextStore, UserPlace } from './context-store.ts';
import type { OpenUsers } from './open-users.ts';

const VERSION = 1;

export interface ErasuresParts {
  readonly catalogs: { all(): Catalog[] };
  readonly store: ContextStore;
  onError(message: string, error: unknown): void;
}

export interface ErasedUser {
  /** Cases of unit memory that were erased. */
  readonly forgotten: number;
}

/**
 * Erases everything that is held about users: what unit memory keeps, items, signals and keys. An erasure is marked before it begins, so
 * that one which broke off is completed later. The mark says which unit is to be forgotten, as JSON: `{"version": 1, "unit": "16 hex digits"}`.
 */
export class Erasures {
  readonly #parts: ErasuresParts;
  readonly #users: OpenUsers;

  constructor(parts: ErasuresParts, users: OpenUsers) {
    this.#parts = parts;
    this.#users = users;
  }

  async erase(catalog: Catalog, userId: string): Promise<ErasedUser> {
    const { store } = this.#parts;
    const place = await this.#users.placeIfAny(catalog.name, userId);
    const unit = unitKey(userId);
    if (place !== null) await store.beginErasure(place, JSON.stringify({ version: VERSION, unit }));
    const { forgotten } = await forget(catalog, { unit: unitNumber(unit) });
    if (place !== null) await this.#finish(place);
    return { forgotten };
  }

  /**
   * Completes the erasures that broke off, of the catalogs that are open here. One that cannot be completed is reported, unless a store
   * is away, and holds up no other.
   */
  async finishAll(): Promise<void> {
    for (const catalog of this.#parts.catalogs.all()) {
      const users = await this.#orReported(this.#parts.store.unfinishedErasures(catalog.name));
      for (const user of users ?? []) await this.#orReported(this.#complete(catalog, user));
    }
  }

  async #complete(catalog: Catalog, user: string): Promise<void> {
    const place = { catalog: catalog.name, user };
    const note = await this.#parts.store.erasureNote(place);
    if (note === null) return;
    const unit = unitOf(note);
    if (unit === null) {
      await this.#finish(place, true);
      throw new Error(
        `An erasure in catalog "${catalog.name}" has a mark that is damaged, or of another version of Bandolier than ${VERSION}. What user ${user} had is erased, and what unit memory keeps of this user cannot be found: erase the user again (DELETE /v1/catalogs/${catalog.name}/users/<id>).`,
      );
    }
    await forget(catalog, { unit: unitNumber(unit) });
    await this.#finish(place);
  }

  async #finish(place: UserPlace, keepMark = false): Promise<void> {
    this.#users.drop(place);
    await this.#parts.store.finishErasure(place, keepMark);
  }

  async #orReported<T>(work: Promise<T>): Promise<T | null> {
    return work.catch((error) => {
      if (!isStoreAway(error)) this.#parts.onError('an erased user could not be erased whole', error);
      return null;
    });
  }
}

/** Null: it is no mark of this version. */
function unitOf(mark: string): string | null {
  try {
    const { version, unit } = JSON.parse(mark);
    return version === VERSION && /^[0-9a-f]{16}$/.test(unit) ? unit : null;
  } catch {
    return null;
  }
}
