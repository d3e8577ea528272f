import type { UserPlace } from './context-store.ts';
import { isLive } from './item.ts';
import type { OpenUsers } from './open-users.ts';
import type { ContextExample } from './training/user-examples.ts';
import type { ReportedUse } from './user-signals.ts';

/** A use of items, by their ids or by the numbers that stand for them (`UserKey.numberOf`). */
export interface ItemsUse extends Omit<ReportedUse, 'items'> {
  /** Empty: none was right, which is of interest to training alone. */
  readonly items: readonly (string | number)[];
  /** What training learns from it; absent: nothing. */
  readonly example?: ContextExample | undefined;
}

interface Waiting {
  readonly uses: ItemsUse[];
  written: Promise<void>;
}

/** Writes how users use their items. Uses of one user that come while one is being written are written together. */
export class UseRecorder {
  readonly #users: OpenUsers;
  readonly #now: () => number;
  /** By user: uses that wait for the write before them. */
  readonly #waiting = new Map<string, Waiting>();

  /** @param now ms since the epoch */
  constructor(users: OpenUsers, now: () => number) {
    this.#users = users;
    this.#now = now;
  }

  /** Adds a use, as `UserContexts.recordUse`. */
  record(place: UserPlace, use: ItemsUse): Promise<void> {
    const name = `${place.catalog}/${place.user}`;
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      waiting.uses.push(use);
      return waiting.written;
    }
    const own: Waiting = { uses: [use], written: Promise.resolve() };
    this.#waiting.set(name, own);
    own.written = this.#write(place, own.uses, () => {
      if (this.#waiting.get(name) === own) this.#waiting.delete(name);
    });
    return own.written;
  }

  /** @param begin what comes from then on waits for the next write */
  async #write(place: UserPlace, uses: readonly ItemsUse[], begin: () => void): Promise<void> {
    try {
      await this.#users.change(
        place,
        async ({ items, signals, key: ownKey }) => {
          begin();
          const now = this.#now();
          const own = new Map<string | number, string>();
          const live = items.filter((item) => isLive(item, now));
          for (const { id } of live) own.set(id, id);
          const isNumbered = uses.some((use) => use.items.some((item) => typeof item === 'number'));
          if (isNumbered) for (const { id } of live) own.set(ownKey.numberOf(id), id);
          let isChanged = false;
          const examples = uses.some(({ example }) => example !== undefined)
            ? await this.#users.examples(place)
            : null;
          let isTaught = false;
          for (const use of uses) {
            const items = use.items.map((item) => own.get(item)).filter((id) => id !== undefined);
            if (items.length > 0) isChanged = signals.add({ ...use, items }, now) || isChanged;
            const { example, query } = use;
            if (examples !== null && example !== undefined && query !== undefined) {
              isTaught = examples.add(example, query.fingerprint) || isTaught;
            }
          }
          if (!isChanged && !isTaught) return null;
          return { ...(isChanged && { signals }), ...(isTaught && { examples: examples! }) };
        },
        { onlyIfKept: true, signalsOnly: true },
      );
    } finally {
      begin();
    }
  }
}
