import { randomUUID } from 'node:crypto';
import { PolicySettingsError } from '../../bandit/policies/policy-kind.ts';
import { type CatalogSettings, DEFAULT_CATALOG_SETTINGS } from '../ledger/catalog-settings.ts';
import { Problem } from '../problem.ts';
import type { Catalog } from './catalog.ts';
import { applySettings, type CatalogSettingsPatch } from './configure-catalog.ts';

/** Opens one catalog: loads its newest snapshot, folds the tail of its ledger, fills its index. */
export type OpenCatalog = (name: string) => Promise<Catalog & { close(): Promise<void> }>;

/** Deletes everything that the stores hold of a closed catalog. */
export type EraseCatalog = (name: string) => Promise<void>;

/** What users see of a catalog. */
export interface CatalogView {
  readonly name: string;
  readonly revision: string;
  readonly tools: number;
  readonly policy: { readonly name: string; readonly version: string };
  readonly settings: CatalogSettings;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The catalogs that this process serves. `default` exists from the start. */
export class Catalogs {
  readonly #open = new Map<string, Awaited<ReturnType<OpenCatalog>>>();
  readonly #openCatalog: OpenCatalog;
  readonly #erase: EraseCatalog;

  private constructor(openCatalog: OpenCatalog, erase: EraseCatalog) {
    this.#openCatalog = openCatalog;
    this.#erase = erase;
  }

  static async start(
    openCatalog: OpenCatalog,
    erase: EraseCatalog,
    known: readonly string[],
  ): Promise<Catalogs> {
    const catalogs = new Catalogs(openCatalog, erase);
    for (const name of new Set(['default', ...known])) catalogs.#open.set(name, await openCatalog(name));
    return catalogs;
  }

  names(): string[] {
    return [...this.#open.keys()].sort();
  }

  all(): Catalog[] {
    return [...this.#open.values()];
  }

  /** @throws Problem catalog-not-found */
  get(name: string): Catalog {
    const catalog = this.#open.get(name);
    if (catalog !== undefined) return catalog;
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
    const settings = this.#settingsFor(name, patch);
    const catalog = this.#open.get(name) ?? (await this.#openCatalog(name));
    this.#open.set(name, catalog);
    await catalog.replica.submit({
      kind: 'settings',
      key: `settings/${randomUUID()}`,
      at: catalog.now(),
      settings,
      ...(actor === undefined ? {} : { actor }),
    });
    return viewOf(catalog);
  }

  /** Deletes a catalog with everything that was learned. `default` is emptied, not deleted. */
  async remove(name: string): Promise<void> {
    const catalog = this.#open.get(name);
    if (catalog === undefined) this.get(name);
    this.#open.delete(name);
    await catalog?.close();
    await this.#erase(name);
    if (name === 'default') this.#open.set(name, await this.#openCatalog(name));
  }

  #settingsFor(name: string, patch: CatalogSettingsPatch): CatalogSettings {
    try {
      return applySettings(this.#open.get(name)?.state.settings ?? DEFAULT_CATALOG_SETTINGS, patch);
    } catch (error) {
      if (!(error instanceof PolicySettingsError)) throw error;
      throw new Problem(
        'unknown-policy',
        error.message,
        'Use one of the names and parameters that are listed.',
      );
    }
  }

  async close(): Promise<void> {
    for (const catalog of this.#open.values()) await catalog.close();
    this.#open.clear();
  }
}

function viewOf({ name, state }: Catalog): CatalogView {
  const { version, settings } = state.learners.active;
  return {
    name,
    revision: state.revision,
    tools: state.tools.size,
    policy: { name: settings.name, version },
    settings: state.settings,
  };
}
