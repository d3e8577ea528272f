import { Problem } from '../errors/problem.ts';
import { LedgerErasingError, LedgerRemovedError } from '../ledger/ledger.ts';
import type { Catalog } from './catalog.ts';
import { CommandQueues } from './command-queues.ts';

/**
 * Opens one catalog: loads its newest snapshot, folds the tail of its ledger, fills its index.
 * @param create whether one is made if there is none @throws LedgerRemovedError otherwise
 */
export type OpenCatalog = (
  name: string,
  create: boolean,
) => Promise<Catalog & { close(because?: Error): Promise<void> }>;

/** What the stores do with a catalog that was closed. */
export interface ClosedCatalogs {
  /** Deletes everything that they hold of it. */
  erase(name: string): Promise<void>;
  /** Another process has deleted it: nothing is written for it any more. */
  release(name: string): Promise<void>;
}

type OpenedCatalog = Awaited<ReturnType<OpenCatalog>>;

/** Another process may delete a catalog again and again while it is made here. */
const MAX_ATTEMPTS = 5;

/**
 * The catalogs that this process serves. `default` exists from the start.
 *
 * A name is in one of these states:
 * - *absent*: nothing is known of it here. Requests fail with `catalog-not-found`.
 * - *open*: requests use it.
 * - *failed*: the stores have it, but it could not be opened. Requests fail with `unavailable` and the reason.
 * - *opening*: the stores have it, and it is being opened. Requests fail with `unavailable`.
 * - *creating*, *closing*, *erasing*: a command is under way. To requests the catalog is absent, or failed if it was.
 *
 * Commands move a name from state to state: `acquire` opens what the stores have (absent or failed → opening → open,
 * failed, or absent if it was deleted), `change` creates what they do not have, `remove` (open or failed → closing → erasing →
 * absent, or back to open or failed if the stores could not erase it), and `release` when another process has deleted it
 * (open → closing → absent). `default` does not stay absent: it is created again at once, empty.
 *
 * Commands of one name run one after the other, so that none meets another half done. Requests do not wait for them: one that
 * holds a catalog which is deleted meanwhile fails where it touches it next, and `holding` says that it is gone. Over Redis
 * other processes delete as well; the ledger's identity tells a catalog that was deleted and created anew from the one that
 * is open here.
 */
export class Catalogs {
  readonly #open = new Map<string, OpenedCatalog>();
  /** By name: why it could not be opened. */
  readonly #failed = new Map<string, Error>();
  readonly #opening = new Set<string>();
  readonly #commands = new CommandQueues();
  readonly #openCatalog: OpenCatalog;
  readonly #closed: ClosedCatalogs;
  readonly #shard: readonly string[] | null;

  private constructor(openCatalog: OpenCatalog, closed: ClosedCatalogs, shard: readonly string[] | null) {
    this.#openCatalog = openCatalog;
    this.#closed = closed;
    this.#shard = shard;
  }

  /**
   * Opens `default` and the known ones. One that cannot be opened keeps no other away.
   * @param shard names of the catalogs that belong to this process; null: all
   * @throws why the first of them could not be opened, if none of them could
   */
  static async start(
    openCatalog: OpenCatalog,
    closed: ClosedCatalogs,
    known: readonly string[],
    shard: readonly string[] | null = null,
  ): Promise<Catalogs> {
    const catalogs = new Catalogs(openCatalog, closed, shard);
    for (const name of new Set(['default', ...known])) await catalogs.acquire(name).catch(() => {});
    const [first] = catalogs.failed().values();
    if (first !== undefined && catalogs.names().length === 0) throw first;
    return catalogs;
  }

  /** Whether requests for a catalog of this name belong here, whether or not there is one. */
  serves(name: string): boolean {
    return this.#shard?.includes(name) ?? true;
  }

  /** Returns a catalog that is open, whether or not it can be used. */
  find(name: string): Catalog | undefined {
    return this.#open.get(name);
  }

  /** Returns a catalog as `get` does; undefined if there is none of this name. @throws as `get` while there is, or may be, one */
  getIfAny(name: string): Catalog | undefined {
    const isHere = [this.#open, this.#failed, this.#opening].some((names) => names.has(name));
    return isHere || name === 'default' || !this.serves(name) ? this.get(name) : undefined;
  }

  names(): string[] {
    return [...this.#open.keys()].sort();
  }

  all(): Catalog[] {
    return [...this.#open.values()];
  }

  /** Those that failed, and why. */
  failed(): ReadonlyMap<string, Error> {
    return this.#failed;
  }

  /** @throws Problem catalog-not-found, wrong-shard, unavailable if it failed or is being opened; the failure of its replica */
  get(name: string): Catalog {
    const catalog = this.#open.get(name);
    if (catalog === undefined) throw this.#missing(name);
    if (catalog.replica.failure !== null && !catalog.replica.isConsistent) throw catalog.replica.failure;
    return catalog;
  }

  /** Works with an open catalog. If that fails because it was deleted meanwhile, throws that it is gone. @throws as `get` */
  async holding<T>(name: string, work: (catalog: Catalog) => T | Promise<T>): Promise<T> {
    const catalog = this.get(name);
    try {
      return await work(catalog);
    } catch (error) {
      const isGone = this.#open.get(name) !== catalog || error instanceof LedgerRemovedError;
      if (error instanceof Problem || !isGone) throw error;
      throw this.#missing(name);
    }
  }

  /** Opens a catalog of this shard, unless it is open or was deleted. @throws what prevents that, as `get` does from then on */
  async acquire(name: string): Promise<void> {
    if (!this.serves(name) || this.#open.has(name)) return;
    await this.#commands.run(name, () => this.#acquire(name));
  }

  /** Closes a catalog that another process has deleted. */
  async release(catalog: Catalog): Promise<void> {
    const { name } = catalog;
    await this.#commands.run(name, async () => {
      if (this.#open.get(name) !== catalog) return;
      await this.#release(name);
      if (name === 'default') await this.#createDefault();
    });
  }

  /** Works with a catalog as a command: after the commands before it, and before those that come later. @throws as `get` */
  change<T>(name: string, work: (catalog: Catalog) => Promise<T>): Promise<T> {
    return this.#commands.run(name, () => this.holding(name, work));
  }

  /** The same, but creates it if there is none, and tries to open one that failed. @throws LedgerErasingError while other processes delete it again and again */
  create<T>(name: string, work: (catalog: Catalog) => Promise<T>): Promise<T> {
    return this.#commands.run(name, async () => {
      if (this.#failed.has(name)) {
        await this.#acquire(name).catch(() => {
          throw this.#missing(name);
        });
      }
      return this.#create(name, work);
    });
  }

  /** Deletes a catalog with everything that was learned; `default` is emptied. @throws as `get`; what the stores throw */
  remove(name: string): Promise<void> {
    return this.#commands.run(name, async () => {
      if (!this.#open.has(name) && !this.#failed.has(name)) throw this.#missing(name);
      await this.#close(name);
      try {
        await this.#closed.erase(name);
      } catch (error) {
        // What could not be erased is still there.
        await this.#acquire(name).catch(() => {});
        throw error;
      }
      this.#failed.delete(name);
      if (name === 'default') await this.#createDefault();
    });
  }

  /** Waits for the commands under way, then closes every catalog. @throws the first error, when all were tried */
  async close(): Promise<void> {
    await this.#commands.idle();
    const closing = await Promise.allSettled([...this.#open.values()].map((catalog) => catalog.close()));
    this.#open.clear();
    for (const result of closing) if (result.status === 'rejected') throw result.reason;
  }

  async #acquire(name: string): Promise<void> {
    this.#opening.add(name);
    try {
      await (name === 'default' ? this.#createDefault() : this.#opened(name, false));
    } catch (error) {
      this.#failed.delete(name);
      if (error instanceof LedgerRemovedError) return;
      this.#failed.set(name, error as Error);
      throw error;
    } finally {
      this.#opening.delete(name);
    }
  }

  /** Creates it again where another process deletes it meanwhile. */
  async #create<T>(name: string, work: (catalog: Catalog) => T | Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.#opened(name, true));
      } catch (error) {
        if (!(error instanceof LedgerRemovedError)) throw error;
        await this.#release(name);
        if (attempt === MAX_ATTEMPTS) throw new LedgerErasingError(name);
      }
    }
  }

  #createDefault(): Promise<unknown> {
    return this.#create('default', () => {});
  }

  async #opened(name: string, create: boolean): Promise<OpenedCatalog> {
    const open = this.#open.get(name) ?? (await this.#openCatalog(name, create));
    this.#open.set(name, open);
    this.#failed.delete(name);
    return open;
  }

  async #release(name: string): Promise<void> {
    await this.#close(name);
    await this.#closed.release(name);
  }

  /** Requests that hold the catalog fail from here on. */
  async #close(name: string): Promise<void> {
    const catalog = this.#open.get(name);
    this.#open.delete(name);
    await catalog?.close(new LedgerRemovedError(name));
  }

  #missing(name: string): Problem {
    if (!this.serves(name)) {
      return new Problem(
        'wrong-shard',
        `Catalog "${name}" is not served by this process, which has ${this.#shard?.join(', ')}.`,
        'Send the request to a process that serves it: its setting `catalogs` names it or is not set.',
      );
    }
    const fault = this.#failed.get(name);
    if (fault !== undefined) {
      return new Problem(
        'unavailable',
        `Catalog "${name}" cannot be opened here: ${fault.message}`,
        'Correct what the message says and start the process again (over Redis it is tried again by itself), or delete the catalog.',
        { retryAfterSeconds: 10 },
      );
    }
    if (this.#opening.has(name)) {
      return new Problem('unavailable', `Catalog "${name}" is being opened.`, 'Send the request again.', {
        retryAfterSeconds: 1,
      });
    }
    if (name === 'default') {
      return new Problem('unavailable', 'Catalog "default" is being emptied.', 'Send the request again.', {
        retryAfterSeconds: 1,
      });
    }
    return new Problem(
      'catalog-not-found',
      `There is no catalog "${name}".`,
      `GET /v1/catalogs lists those that there are. Create this one with PUT /v1/catalogs/${name} and the body {}.`,
    );
  }
}
