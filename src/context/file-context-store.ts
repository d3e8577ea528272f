import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CommandQueues } from '../catalog/command-queues.ts';
import { catalogFolder, keysFolder, namesIn, removeFolder } from '../storage/data-folder.ts';
import {
  createFileWhole,
  createFolder,
  syncFolder,
  UNFINISHED,
  writeFileDurably,
  writeFully,
} from '../storage/durable-file.ts';
import { errorCode, ifThere, unavailable } from '../storage/storage-errors.ts';
import {
  BeingErasedError,
  type ContextStore,
  type SealedChange,
  type SealedExamples,
  type SealedUser,
  type UserPage,
  type UserPlace,
} from './context-store.ts';

/** Stamps that are remembered; of a user whose stamp is forgotten everything is read again. */
const MOST_STAMPS = 65_536;
const USER = /^[0-9a-f]{32}$/;
const SHARD = /^[0-9a-f]{2}$/;
const SWEEP = 'sweep';
const ERASING = 'erasing';

/**
 * What users have, in a data folder, which belongs to one process:
 *
 *   keys/service                                      the service's key
 *   keys/catalogs/<catalog>/<2 digits>/<user>         the key of a user
 *   keys/catalogs/<catalog>/erasing/<user>            an erasure that has begun
 *   catalogs/<catalog>/context/<2 digits>/<user>.items, .signals, .examples
 *   catalogs/<catalog>/context/sweep                  how far the search for expired items has come
 *
 * Whoever copies a data folder without `keys/` copies nothing that can be read.
 */
export class FileContextStore implements ContextStore {
  readonly isPrivate = true;
  readonly absenceMs = Number.POSITIVE_INFINITY;
  readonly #dataDir: string;
  readonly #changes = new CommandQueues();
  readonly #stamps = new Map<string, string>();
  readonly #process = randomBytes(4).toString('hex');
  #nextStamp = 1;
  /** By catalog: the users who are being erased. Read once. */
  readonly #erasing = new Map<string, Promise<Set<string>>>();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  readServiceKey(): Promise<Buffer | null> {
    return this.#working(() => ifThere(readFile(this.#serviceKey)));
  }

  createServiceKey(record: Buffer): Promise<Buffer> {
    return this.#withServiceKey(async () => {
      await createFolder(dirname(this.#serviceKey));
      await createFileWhole(this.#serviceKey, record);
      await syncFolder(dirname(this.#serviceKey));
      return readFile(this.#serviceKey);
    });
  }

  replaceServiceKey(record: Buffer): Promise<void> {
    return this.#withServiceKey(async () => {
      await createFolder(dirname(this.#serviceKey));
      // The one before lies open, perhaps: it is overwritten, but not before the new one is there.
      const before = `${this.#serviceKey}.before${UNFINISHED}`;
      await rm(before, { force: true });
      await link(this.#serviceKey, before).catch(ignoringAbsence);
      await writeFileDurably(this.#serviceKey, record);
      await overwritten(before);
      await rm(before, { force: true });
    });
  }

  read(place: UserPlace, known?: string): Promise<SealedUser | 'same' | null> {
    return this.#working(async () => {
      const stamp = this.#stamps.get(nameOf(place));
      if (stamp !== undefined && stamp === known) return 'same';
      // After the changes under way: it has to see both parts of each.
      return this.#changes.run(nameOf(place), () => this.#read(place));
    });
  }

  change(
    place: UserPlace,
    update: (current: SealedUser | null) => Promise<SealedChange | null>,
  ): Promise<string | null> {
    return this.#changes.run(nameOf(place), async () => {
      const current = await this.#working(async () => {
        if ((await this.#erasuresOf(place.catalog)).has(place.user)) throw new BeingErasedError();
        return this.#read(place);
      });
      const change = await update(current);
      if (change === null) return current?.stamp ?? null;
      if (current === null && change.key === undefined) throw new Error('A new user needs a key.');
      return this.#working(async () => {
        // Whatever fails half way, what is remembered elsewhere is not what is on disk any more.
        const stamp = this.#stamped(place);
        if (change.key !== undefined) await written(this.#key(place), change.key);
        if (change.items !== undefined) await written(this.#part(place, 'items'), change.items);
        for (const part of ['signals', 'examples'] as const) {
          const bytes = change[part];
          if (bytes !== undefined) await written(this.#part(place, part), bytes);
        }
        return stamp;
      });
    });
  }

  examples(place: UserPlace): Promise<SealedExamples | null> {
    return this.#working(async () => {
      if ((await this.#erasuresOf(place.catalog)).has(place.user)) return null;
      const [key, examples] = await Promise.all([
        ifThere(readFile(this.#key(place))),
        ifThere(readFile(this.#part(place, 'examples'))),
      ]);
      return key === null || examples === null ? null : { key, examples };
    });
  }

  beginErasure(place: UserPlace, note: string): Promise<void> {
    return this.#changes.run(nameOf(place), () =>
      this.#working(async () => {
        await written(join(this.#erasures(place.catalog), place.user), Buffer.from(note));
        (await this.#erasuresOf(place.catalog)).add(place.user);
        this.#stamps.delete(nameOf(place));
      }),
    );
  }

  finishErasure(place: UserPlace, keepMark = false): Promise<void> {
    return this.#changes.run(nameOf(place), () =>
      this.#working(async () => {
        const erasing = await this.#erasuresOf(place.catalog);
        if (!erasing.has(place.user)) return;
        const isOwn = (name: string): boolean => name.startsWith(place.user);
        await removed(this.#key(place), isOwn);
        await removed(this.#part(place, 'items'), isOwn);
        if (keepMark) return;
        const mark = join(this.#erasures(place.catalog), place.user);
        // Not overwritten: killed in between, it has to be read again.
        await rm(mark, { force: true });
        await syncFolder(dirname(mark));
        await removed(mark, isOwn); // what a crash left unfinished
        erasing.delete(place.user);
      }),
    );
  }

  unfinishedErasures(catalog: string): Promise<readonly string[]> {
    return this.#working(async () => [...(await this.#erasuresOf(catalog))]);
  }

  async erasureNote({ catalog, user }: UserPlace): Promise<string | null> {
    const file = join(this.#erasures(catalog), user);
    try {
      return await ifThere(readFile(file, 'utf8'));
    } catch (error) {
      // Its folder could be read, so that the store is not away.
      throw new Error(
        `The mark of an erasure cannot be read, which is tried again: make "${file}" a readable file.`,
        {
          cause: error,
        },
      );
    }
  }

  someUsers(catalog: string, cursor: string | null, most: number): Promise<UserPage> {
    return this.#working(async () => {
      const folder = this.#keys(catalog);
      const shards = (await namesIn(folder)).filter((name) => SHARD.test(name)).sort();
      const users: string[] = [];
      for (const shard of shards) {
        if (cursor !== null && shard < shardOf(cursor)) continue;
        const names = (await namesIn(join(folder, shard))).filter((name) => USER.test(name)).sort();
        for (const name of names) {
          if (cursor !== null && name <= cursor) continue;
          if (users.length === most) return { users, next: users[most - 1] };
          users.push(name);
        }
      }
      return { users, next: null };
    });
  }

  readSweep(catalog: string): Promise<Buffer | null> {
    return this.#working(() => ifThere(readFile(join(this.#data(catalog), SWEEP))));
  }

  writeSweep(catalog: string, progress: Buffer): Promise<void> {
    const file = join(this.#data(catalog), SWEEP);
    return this.#changes.run(`${catalog}/${SWEEP}`, () => this.#working(() => written(file, progress)));
  }

  async removeUnfinished(catalog: string): Promise<void> {
    const isOfService = (name: string): boolean => name.startsWith('service.') && isUnfinished(name);
    await this.#withServiceKey(() => removed(this.#serviceKey, isOfService));
    await this.#working(async () => {
      for (const top of [this.#keys(catalog), this.#data(catalog)]) {
        const shards = (await namesIn(top)).filter((name) => SHARD.test(name));
        for (const folder of [top, join(top, ERASING), ...shards.map((shard) => join(top, shard))]) {
          const names = (await namesIn(folder)).filter(isUnfinished);
          // What is written under this name now comes before or after it, so that it is no such file.
          for (const owner of new Set(names.map((name) => name.split('.', 1)[0]))) {
            const isOwn = (name: string): boolean => name.startsWith(`${owner}.`) && isUnfinished(name);
            await this.#changes.run(`${catalog}/${owner}`, () => removed(join(folder, owner), isOwn));
          }
        }
      }
    });
  }

  remove(catalog: string): Promise<void> {
    return this.#working(async () => {
      this.#erasing.delete(catalog);
      for (const name of this.#stamps.keys()) {
        if (name.startsWith(`${catalog}/`)) this.#stamps.delete(name);
      }
      await removeFolder(this.#keys(catalog));
      await removeFolder(this.#data(catalog));
    });
  }

  async #read(place: UserPlace): Promise<SealedUser | null> {
    if ((await this.#erasuresOf(place.catalog)).has(place.user)) return null;
    const key = await ifThere(readFile(this.#key(place)));
    if (key === null) return null;
    const [items, signals] = await Promise.all([
      ifThere(readFile(this.#part(place, 'items'))),
      ifThere(readFile(this.#part(place, 'signals'))),
    ]);
    return { stamp: this.#stamps.get(nameOf(place)) ?? this.#stamped(place), key, items, signals };
  }

  #stamped(place: UserPlace): string {
    const stamp = `${this.#process}-${this.#nextStamp++}`;
    const name = nameOf(place);
    this.#stamps.delete(name);
    this.#stamps.set(name, stamp);
    if (this.#stamps.size > MOST_STAMPS) this.#stamps.delete(this.#stamps.keys().next().value!);
    return stamp;
  }

  #erasuresOf(catalog: string): Promise<Set<string>> {
    const known = this.#erasing.get(catalog);
    if (known !== undefined) return known;
    const found = this.#readErasures(catalog).catch((error) => {
      this.#erasing.delete(catalog);
      throw error;
    });
    this.#erasing.set(catalog, found);
    return found;
  }

  async #readErasures(catalog: string): Promise<Set<string>> {
    return new Set((await namesIn(this.#erasures(catalog))).filter((name) => USER.test(name)));
  }

  get #serviceKey(): string {
    return join(this.#dataDir, 'keys', 'service');
  }

  #keys(catalog: string): string {
    catalogFolder(this.#dataDir, catalog); // refuses what is no name of a catalog
    return join(keysFolder(this.#dataDir), catalog);
  }

  #erasures(catalog: string): string {
    return join(this.#keys(catalog), ERASING);
  }

  #key({ catalog, user }: UserPlace): string {
    return join(this.#keys(catalog), shardOf(user), user);
  }

  #data(catalog: string): string {
    return join(catalogFolder(this.#dataDir, catalog), 'context');
  }

  #part({ catalog, user }: UserPlace, part: 'items' | 'signals' | 'examples'): string {
    return join(this.#data(catalog), shardOf(user), `${user}.${part}`);
  }

  #withServiceKey<T>(work: () => Promise<T>): Promise<T> {
    return this.#changes.run('service', () => this.#working(work));
  }

  async #working<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      throw unavailable(error, `What users have cannot be kept in "${this.#dataDir}"`);
    }
  }
}

const isUnfinished = (name: string): boolean => name.endsWith(UNFINISHED);

const nameOf = ({ catalog, user }: UserPlace): string => `${catalog}/${user}`;

/** @throws RangeError for what is no name that stands for a user, since it is part of a path */
function shardOf(user: string): string {
  if (!USER.test(user)) throw new RangeError('This is no name that stands for a user.');
  return user.slice(0, 2);
}

/** The folder is made when it is missing, and not looked for with every write. */
async function written(file: string, bytes: Buffer): Promise<void> {
  try {
    await writeFileDurably(file, bytes);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await createFolder(dirname(file));
    await writeFileDurably(file, bytes);
  }
}

/** Removes files from the folder of this one, each overwritten before; of a user also those that a crash left unfinished. */
async function removed(file: string, isMeant: (name: string) => boolean): Promise<void> {
  const folder = dirname(file);
  const names = (await namesIn(folder)).filter(isMeant);
  for (const name of names) {
    await overwritten(join(folder, name));
    await rm(join(folder, name), { force: true });
  }
  if (names.length > 0) await syncFolder(folder);
}

/** Writes random bytes over a file and syncs them. Disks may keep old blocks all the same, which is why keys are wrapped. */
async function overwritten(file: string): Promise<void> {
  try {
    const { size } = await stat(file);
    const handle = await open(file, 'r+');
    try {
      await writeFully(handle, randomBytes(size), 0);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    ignoringAbsence(error);
  }
}

function ignoringAbsence(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}
