import { randomUUID } from 'node:crypto';
import { PolicySettingsError } from '../../bandit/policies/policy-kind.ts';
import type { CatalogSettings, SettingsPatch } from '../ledger/catalog-settings.ts';
import { LedgerErasingError, LedgerRemovedError } from '../ledger/ledger.ts';
import { Problem } from '../problem.ts';
import type { StateDigest } from '../state/state-digest.ts';
import type { Catalog } from './catalog.ts';
import { type CatalogSettingsPatch, completePatch } from './configure-catalog.ts';
import { DEFAULT_EMBEDDER } from './embedders.ts';
import { type Forgotten, forgetUnit } from './forget.ts';
import { refusingUnusable } from './refuse-unusable.ts';

/**
 * Opens one catalog: loads its newest snapshot, folds the tail of its ledger, fills its index.
 * @param create whether one is made if there is none @throws LedgerRemovedError otherwise
 */
export type OpenCatalog = (
  name: string,
  create: boolean,
) => Promise<Catalog & { close(because?: Error): Promise<void> }>;

/** What becomes of a closed catalog in the stores. */
export interface ClosedCatalogs {
  /** Deletes everything that they hold of it. */
  erase(name: string): Promise<void>;
  /** Another process has deleted it: nothing is written for it any more. */
  release(name: string): Promise<void>;
}

/** Opens the models that are named. @throws UnusableModelError, EmbedderUnavailableError */
export type CheckModels = (named: Pick<CatalogSettingsPatch, 'embedder' | 'reranker'>) => Promise<unknown>;

/** What users see of a catalog. */
export interface CatalogView {
  readonly name: string;
  readonly revision: string;
  readonly tools: number;
  readonly policy: { readonly name: string; readonly version: string };
  /** With the name of its embedding model. */
  readonly settings: CatalogSettings & { readonly embedder: string };
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

type OpenedCatalog = Awaited<ReturnType<OpenCatalog>>;

/** Another process deletes it again and again while it is made here. */
const MAX_ATTEMPTS = 5;

/**
 * The catalogs that this process serves. `default` exists from the start.
 *
 * Opening, configuring and deleting one of them happen one after the other (`#inTurn`), so that none meets another
 * half done. Requests do not wait for their turn: one that holds a catalog which is deleted meanwhile fails where it
 * touches it next, and `holding` says that it is gone. Over Redis other processes delete as well; the ledger's identity
 * tells a catalog that was deleted and made anew from the one that is open here.
 */
export class Catalogs {
  readonly #open = new Map<string, OpenedCatalog>();
  /** Those that are there but could not be opened, and why. */
  readonly #unopened = new Map<string, Error>();
  /** The end of the queue of each name; settled when nobody waits. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #openCatalog: OpenCatalog;
  readonly #closed: ClosedCatalogs;
  readonly #checkModels: CheckModels;
  /** The catalogs of this shard; null: all there are. */
  readonly #shard: readonly string[] | null;

  private constructor(
    openCatalog: OpenCatalog,
    closed: ClosedCatalogs,
    shard: readonly string[] | null,
    checkModels: CheckModels,
  ) {
    this.#checkModels = checkModels;
    this.#openCatalog = openCatalog;
    this.#closed = closed;
    this.#shard = shard;
  }

  static async start(
    openCatalog: OpenCatalog,
    closed: ClosedCatalogs,
    known: readonly string[],
    shard: readonly string[] | null = null,
    checkModels: CheckModels = async () => undefined,
  ): Promise<Catalogs> {
    const catalogs = new Catalogs(openCatalog, closed, shard, checkModels);
    try {
      for (const name of new Set(['default', ...known])) await catalogs.acquire(name);
    } catch (error) {
      await catalogs.close();
      throw error;
    }
    return catalogs;
  }

  /** Whether requests for a catalog of this name belong here, whether or not there is one. */
  serves(name: string): boolean {
    return this.#shard?.includes(name) ?? true;
  }

  /** Opens a catalog of this shard, unless it is open or was deleted. Whoever asks for one that fails is told why. */
  async acquire(name: string): Promise<void> {
    if (!this.serves(name) || this.#open.has(name)) return;
    await this.#inTurn(name, async () => {
      try {
        await (name === 'default' ? this.#madeDefault() : this.#opened(name, false));
      } catch (error) {
        this.#unopened.delete(name);
        if (error instanceof LedgerRemovedError) return;
        this.#unopened.set(name, error as Error);
        throw error;
      }
    });
  }

  /** Closes a catalog that another process has deleted; `default` is there again, empty. */
  async release(catalog: Catalog): Promise<void> {
    const { name } = catalog;
    await this.#inTurn(name, async () => {
      if (this.#open.get(name) !== catalog) return;
      await this.#lose(name);
      if (name === 'default') await this.#madeDefault();
    });
  }

  find(name: string): Catalog | undefined {
    return this.#open.get(name);
  }

  names(): string[] {
    return [...this.#open.keys()].sort();
  }

  /** Those that are there but could not be opened, and why. */
  unopened(): ReadonlyMap<string, Error> {
    return this.#unopened;
  }

  all(): Catalog[] {
    return [...this.#open.values()];
  }

  /** @throws Problem catalog-not-found, wrong-shard, or unavailable if it cannot be opened; what a replica that failed says */
  get(name: string): Catalog {
    const catalog = this.#open.get(name);
    if (catalog === undefined) throw this.#missing(name);
    if (catalog.replica.failure !== null && !catalog.replica.isConsistent) throw catalog.replica.failure;
    return catalog;
  }

  /** Does something with a catalog. If that fails since it was deleted meanwhile, this is what is thrown. @throws as above */
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

  list(): CatalogView[] {
    return this.names().map((name) => viewOf(this.#open.get(name)!));
  }

  view(name: string): CatalogView {
    return viewOf(this.get(name));
  }

  /** Of everything that is known of a catalog here. */
  digest(name: string): Promise<StateDigest> {
    return this.holding(name, ({ replica }) => replica.digest());
  }

  /** Erases what was remembered from a unit, user or session. */
  forgetUnit(name: string, unit: string): Promise<Forgotten> {
    return this.holding(name, (catalog) => forgetUnit(catalog, unit));
  }

  /** Creates the catalog if there is none (unless that is not wanted), and changes those of its settings that are given. */
  async configure(name: string, patch: CatalogSettingsPatch, create = true): Promise<CatalogView> {
    refuseName(name);
    if (!this.serves(name) || !create) this.get(name);
    const complete = checked(patch);
    await refusingUnusable(() => this.#checkModels(patch));
    const view = await this.#inTurn(name, () => this.#changeSettings(name, complete, create));
    const { embedder } = patch;
    if (embedder === undefined) return view;
    await this.holding(name, (catalog) => refusingUnusable(() => catalog.bindEmbedder(embedder)));
    return this.view(name);
  }

  /** Deletes a catalog with everything that was learned. `default` is emptied, not deleted. */
  remove(name: string): Promise<void> {
    return this.#inTurn(name, async () => {
      if (!this.#open.has(name) && !this.#unopened.has(name)) throw this.#missing(name);
      await this.#drop(name);
      try {
        await this.#closed.erase(name);
      } catch (error) {
        // What could not be deleted is still there, and goes on.
        await this.#opened(name, false).catch(() => {});
        throw error;
      }
      this.#unopened.delete(name);
      if (name === 'default') await this.#madeDefault();
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#turns.values());
    for (const catalog of this.#open.values()) await catalog.close();
    this.#open.clear();
  }

  #changeSettings(name: string, patch: SettingsPatch, create: boolean): Promise<CatalogView> {
    const change = async (catalog: Catalog): Promise<CatalogView> => {
      const key = `settings/${randomUUID()}`;
      await catalog.replica.submit({ kind: 'settings', key, at: catalog.now(), patch });
      return viewOf(catalog);
    };
    return create ? this.#making(name, change) : this.holding(name, change);
  }

  /** Works with a catalog that is made if there is none, and made again where another process deletes it meanwhile. */
  async #making<T>(name: string, work: (catalog: OpenedCatalog) => T | Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.#opened(name, true));
      } catch (error) {
        if (!(error instanceof LedgerRemovedError)) throw error;
        await this.#lose(name);
        if (attempt === MAX_ATTEMPTS) throw new LedgerErasingError(name);
      }
    }
  }

  /** `default` is there always. */
  #madeDefault(): Promise<unknown> {
    return this.#making('default', () => {});
  }

  async #opened(name: string, create: boolean): Promise<OpenedCatalog> {
    const open = this.#open.get(name) ?? (await this.#openCatalog(name, create));
    this.#open.set(name, open);
    this.#unopened.delete(name);
    return open;
  }

  /** Another process has deleted it. */
  async #lose(name: string): Promise<void> {
    await this.#drop(name);
    await this.#closed.release(name);
  }

  /** It was deleted, or is about to be. */
  async #drop(name: string): Promise<void> {
    const catalog = this.#open.get(name);
    this.#open.delete(name);
    await catalog?.close(new LedgerRemovedError(name));
  }

  /** Runs when everything is done that was begun before for a catalog of this name. */
  #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work);
    const end = turn.then(
      () => {},
      () => {},
    );
    this.#turns.set(name, end);
    void end.then(() => {
      if (this.#turns.get(name) === end) this.#turns.delete(name);
    });
    return turn;
  }

  #missing(name: string): Problem {
    if (!this.serves(name)) {
      return new Problem(
        'wrong-shard',
        `Catalog "${name}" is not served by this process, which has ${this.#shard?.join(', ')}.`,
        'Send the request to a process that serves it: its setting `catalogs` names it or is not set.',
      );
    }
    const fault = this.#unopened.get(name);
    if (fault !== undefined) {
      return new Problem(
        'unavailable',
        `Catalog "${name}" cannot be opened here: ${fault.message}`,
        'This is tried again and again. If it stays so, mend what the message says, or delete the catalog.',
        { retryAfterSeconds: 10 },
      );
    }
    if (name === 'default') {
      return new Problem('unavailable', 'Catalog "default" is being emptied.', 'Send the request again.', {
        retryAfterSeconds: 1,
      });
    }
    return new Problem(
      'catalog-not-found',
      `There is no catalog "${name}".`,
      `Create it with PUT /v1/catalogs/${NAME.test(name) ? name : '{name}'}, or leave the catalog out to use "default".`,
    );
  }
}

/** @throws Problem validation-failed */
function refuseName(name: string): void {
  if (NAME.test(name)) return;
  throw new Problem(
    'validation-failed',
    `"${name}" cannot be the name of a catalog.`,
    'Use 1 to 63 lower-case letters, digits and hyphens, beginning with a letter or digit.',
    { violations: [{ path: 'catalog', message: 'must match ^[a-z0-9][a-z0-9-]{0,62}$' }] },
  );
}

/** @throws Problem unknown-policy */
function checked(patch: CatalogSettingsPatch): SettingsPatch {
  try {
    return completePatch(patch);
  } catch (error) {
    if (!(error instanceof PolicySettingsError)) throw error;
    throw new Problem(
      'unknown-policy',
      error.message,
      'Use one of the names and parameters that are listed.',
    );
  }
}

function viewOf({ name, state }: Catalog): CatalogView {
  const { version, settings } = state.learners.active;
  return {
    name,
    revision: state.revision,
    tools: state.tools.size,
    policy: { name: settings.name, version },
    settings: { ...state.settings, embedder: state.embedder.model ?? DEFAULT_EMBEDDER },
  };
}
