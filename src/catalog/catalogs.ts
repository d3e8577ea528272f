import { randomUUID } from 'node:crypto';
import { PolicySettingsError } from '../../bandit/policies/policy-kind.ts';
import type { CatalogSettings, SettingsPatch } from '../ledger/catalog-settings.ts';
import { Problem } from '../problem.ts';
import type { Catalog } from './catalog.ts';
import { type CatalogSettingsPatch, completePatch } from './configure-catalog.ts';
import { DEFAULT_EMBEDDER } from './embedders.ts';
import { refusingUnusable } from './refuse-unusable.ts';

/** Opens one catalog: loads its newest snapshot, folds the tail of its ledger, fills its index. */
export type OpenCatalog = (name: string) => Promise<Catalog & { close(): Promise<void> }>;

/** Deletes everything that the stores hold of a closed catalog. */
export type EraseCatalog = (name: string) => Promise<void>;

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

/** The catalogs that this process serves. `default` exists from the start. */
export class Catalogs {
  readonly #open = new Map<string, OpenedCatalog>();
  readonly #opening = new Map<string, Promise<OpenedCatalog>>();
  readonly #removing = new Set<string>();
  readonly #openCatalog: OpenCatalog;
  readonly #erase: EraseCatalog;
  readonly #checkModels: CheckModels;
  /** The catalogs of this shard; null: all there are. */
  readonly #shard: readonly string[] | null;

  private constructor(
    openCatalog: OpenCatalog,
    erase: EraseCatalog,
    shard: readonly string[] | null,
    checkModels: CheckModels,
  ) {
    this.#checkModels = checkModels;
    this.#openCatalog = openCatalog;
    this.#erase = erase;
    this.#shard = shard;
  }

  static async start(
    openCatalog: OpenCatalog,
    erase: EraseCatalog,
    known: readonly string[],
    shard: readonly string[] | null = null,
    checkModels: CheckModels = async () => undefined,
  ): Promise<Catalogs> {
    const catalogs = new Catalogs(openCatalog, erase, shard, checkModels);
    for (const name of new Set(['default', ...known])) await catalogs.takeUp(name);
    return catalogs;
  }

  /** Whether requests for a catalog of this name belong here, whether or not there is one. */
  serves(name: string): boolean {
    return this.#shard?.includes(name) ?? true;
  }

  /** Opens a catalog of this shard unless it is open, or being deleted here. */
  async takeUp(name: string): Promise<void> {
    if (this.serves(name) && !this.#removing.has(name)) await this.#opened(name);
  }

  /** Closes a catalog that another process has deleted; `default` is there again, empty. */
  async letGo(catalog: Catalog): Promise<void> {
    const open = this.#open.get(catalog.name);
    if (open !== catalog) return;
    this.#open.delete(catalog.name);
    await open.close();
    if (catalog.name === 'default') await this.takeUp('default');
  }

  find(name: string): Catalog | undefined {
    return this.#open.get(name);
  }

  names(): string[] {
    return [...this.#open.keys()].sort();
  }

  all(): Catalog[] {
    return [...this.#open.values()];
  }

  /** @throws Problem catalog-not-found, wrong-shard; unavailable where an entry was folded half */
  get(name: string): Catalog {
    const catalog = this.#open.get(name);
    if (catalog?.replica.isWhole === false) throw catalog.replica.failure;
    if (catalog !== undefined) return catalog;
    this.#refuseOtherShard(name);
    throw new Problem(
      'catalog-not-found',
      `There is no catalog "${name}".`,
      `Create it with PUT /v1/catalogs/${NAME.test(name) ? name : '{name}'}, or leave the catalog out to use "default".`,
    );
  }

  list(): CatalogView[] {
    return this.names().map((name) => viewOf(this.get(name)));
  }

  view(name: string): CatalogView {
    return viewOf(this.get(name));
  }

  /** Creates the catalog if there is none, and changes those of its settings that are given. */
  async configure(name: string, patch: CatalogSettingsPatch, actor?: string): Promise<CatalogView> {
    if (!NAME.test(name)) {
      throw new Problem(
        'validation-failed',
        `"${name}" cannot be the name of a catalog.`,
        'Use 1 to 63 lower-case letters, digits and hyphens, beginning with a letter or digit.',
        { violations: [{ path: 'catalog', message: 'must match ^[a-z0-9][a-z0-9-]{0,62}$' }] },
      );
    }
    this.#refuseOtherShard(name);
    const complete = checked(patch);
    await refusingUnusable(() => this.#checkModels(patch));
    const catalog = await this.#opened(name);
    await catalog.replica.submit({
      kind: 'settings',
      key: `settings/${randomUUID()}`,
      at: catalog.now(),
      patch: complete,
      ...(actor === undefined ? {} : { actor }),
    });
    const { embedder } = patch;
    if (embedder !== undefined) await refusingUnusable(() => catalog.bindEmbedder(embedder));
    return viewOf(catalog);
  }

  /** Deletes a catalog with everything that was learned. `default` is emptied, not deleted. */
  async remove(name: string): Promise<void> {
    const catalog = this.#open.get(name);
    if (catalog === undefined) this.get(name);
    this.#open.delete(name);
    this.#removing.add(name);
    try {
      await catalog?.close();
      await this.#erase(name);
    } finally {
      this.#removing.delete(name);
    }
    if (name === 'default') await this.#opened(name);
  }

  /** @throws Problem wrong-shard */
  #refuseOtherShard(name: string): void {
    if (this.serves(name)) return;
    throw new Problem(
      'wrong-shard',
      `Catalog "${name}" is not served by this process, which has ${this.#shard?.join(', ')}.`,
      'Send the request to a process that serves it: its setting `catalogs` names it or is not set.',
    );
  }

  async #opened(name: string): Promise<OpenedCatalog> {
    const open = this.#open.get(name);
    if (open !== undefined) return open;
    const opening = this.#opening.get(name) ?? this.#openCatalog(name);
    this.#opening.set(name, opening);
    try {
      const catalog = await opening;
      this.#open.set(name, catalog);
      return catalog;
    } finally {
      this.#opening.delete(name);
    }
  }

  async close(): Promise<void> {
    for (const catalog of this.#open.values()) await catalog.close();
    this.#open.clear();
  }
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
