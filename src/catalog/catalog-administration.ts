import { randomUUID } from 'node:crypto';
import { PolicySettingsError } from '../../bandit/policies/policy-kind.ts';
import { policyKind, policyParameters } from '../../bandit/policies/registry.ts';
import type { CatalogSettings, PolicySettings, SettingsPatch } from '../ledger/catalog-settings.ts';
import { Problem } from '../problem.ts';
import type { StateDigest } from '../state/snapshot-codec.ts';
import type { Catalog } from './catalog.ts';
import type { Catalogs } from './catalogs.ts';
import { DEFAULT_EMBEDDER, refusingUnusable } from './embedders.ts';
import { type Forgotten, forgetUnit } from './tools.ts';

/** What users see of a catalog. */
export interface CatalogView {
  readonly name: string;
  readonly revision: string;
  readonly tools: number;
  readonly policy: { readonly name: string; readonly version: string };
  /** With the name of its embedding model. */
  readonly settings: CatalogSettings & { readonly embedder: string };
}

/** Opens the models that are named. @throws UnusableModelError, EmbedderUnavailableError */
export type CheckModels = (named: Pick<CatalogSettingsPatch, 'embedder' | 'reranker'>) => Promise<unknown>;

/** What users see of whole catalogs and do with them. Every method that takes a name throws what `Catalogs.get` throws. */
export class CatalogAdministration {
  readonly #catalogs: Catalogs;
  readonly #checkModels: CheckModels;

  constructor(catalogs: Catalogs, checkModels: CheckModels) {
    this.#catalogs = catalogs;
    this.#checkModels = checkModels;
  }

  /** By name. */
  list(): CatalogView[] {
    return this.#catalogs.names().map((name) => viewOf(this.#catalogs.find(name)!));
  }

  view(name: string): CatalogView {
    return viewOf(this.#catalogs.get(name));
  }

  /**
   * Changes the settings that are given, and creates the catalog if there is none.
   * @throws Problem unknown-policy; validation-failed for a model of no use; unavailable for an embedder that is away
   */
  async configure(name: string, patch: CatalogSettingsPatch): Promise<CatalogView> {
    if (!this.#catalogs.serves(name)) this.#catalogs.get(name);
    const complete = checked(patch);
    await refusingUnusable(() => this.#checkModels(patch));
    const view = await this.#catalogs.create(name, async (catalog) => {
      await changeSettings(catalog, complete);
      return viewOf(catalog);
    });
    const { embedder } = patch;
    if (embedder === undefined) return view;
    await this.#catalogs.holding(name, (catalog) => refusingUnusable(() => catalog.bindEmbedder(embedder)));
    return this.view(name);
  }

  /** Deletes a catalog with everything that was learned. `default` is emptied: it always exists. */
  remove(name: string): Promise<void> {
    return this.#catalogs.remove(name);
  }

  /** Of everything that is known of a catalog here. */
  digest(name: string): Promise<StateDigest> {
    return this.#catalogs.holding(name, ({ replica }) => replica.digest());
  }

  /** Erases what was remembered from a unit, user or session. */
  forgetUnit(name: string, unit: string): Promise<Forgotten> {
    return this.#catalogs.holding(name, (catalog) => forgetUnit(catalog, unit));
  }
}

/** Appends a change of settings to the ledger. */
export async function changeSettings({ replica, now }: Catalog, patch: SettingsPatch): Promise<void> {
  await replica.submit({ kind: 'settings', key: `settings/${randomUUID()}`, at: now(), patch });
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

/** The settings to change; what is left out stays as it is. A policy is given by name, the rest of it has defaults. */
export type CatalogSettingsPatch = Omit<SettingsPatch, 'policy'> & {
  readonly policy?: Partial<Omit<PolicySettings, 'name'>> & { readonly name: string };
  /** Moves the catalog to this embedding model; a command, and no part of the settings. */
  readonly embedder?: string;
};

/** @throws PolicySettingsError when the policy or one of its parameters does not exist or is out of range. */
export function completePatch({ policy, embedder: _, ...rest }: CatalogSettingsPatch): SettingsPatch {
  return policy === undefined ? rest : { ...rest, policy: completePolicy(policy) };
}

/** @throws PolicySettingsError */
export function completePolicy(given: NonNullable<CatalogSettingsPatch['policy']>): PolicySettings {
  const kind = policyKind(given.name);
  const parameters = given.parameters ?? {};
  policyParameters(given.name, parameters);
  return {
    name: given.name,
    parameters,
    exploration: given.exploration ?? kind.defaultExploration,
    temperature: given.temperature ?? 0.03,
  };
}
