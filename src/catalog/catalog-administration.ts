import { randomUUID } from 'node:crypto';
import { PolicySettingsError } from '../../bandit/policies/policy-kind.ts';
import { Problem } from '../errors/problem.ts';
import {
  type CatalogSettings,
  DEFAULT_CATALOG_SETTINGS,
  type PolicyPatch,
  type SettingsPatch,
} from '../ledger/catalog-settings.ts';
import { changedPolicy } from '../state/policy-settings.ts';
import type { StateDigest } from '../state/snapshot-codec.ts';
import type { Catalog } from './catalog.ts';
import type { Catalogs } from './catalogs.ts';
import { attemptChange } from './conditional-change.ts';
import { domainRules } from './domains.ts';
import { DEFAULT_EMBEDDER, refusingUnusable } from './embedders.ts';

/** What users see of a catalog. */
export interface CatalogView {
  readonly name: string;
  readonly revision: string;
  readonly tools: number;
  readonly policy: { readonly name: string; readonly version: string };
  /** With the name of its embedding model. */
  readonly settings: CatalogSettings & { readonly embedder: string };
}

/** The catalogs of this process. */
export interface CatalogList {
  readonly catalogs: readonly CatalogView[];
  /** Those that could not be opened; they answer 503. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
}

/** Opens the models that are named. @throws UnusableModelError, EmbedderUnavailableError; Problem where a chat model is needed and none is configured */
export type CheckModels = (
  named: Pick<CatalogSettingsPatch, 'embedder' | 'reranker' | 'contextExpansion' | 'merging'>,
) => Promise<unknown>;

/** What users see of whole catalogs and do with them. Every method that takes a name throws what `Catalogs.get` throws. */
export class CatalogAdministration {
  readonly #catalogs: Catalogs;
  readonly #checkModels: CheckModels;

  constructor(catalogs: Catalogs, checkModels: CheckModels) {
    this.#catalogs = catalogs;
    this.#checkModels = checkModels;
  }

  /** By name. */
  list(): CatalogList {
    return {
      catalogs: this.#catalogs.names().map((name) => viewOf(this.#catalogs.find(name)!)),
      failed: Array.from(this.#catalogs.failed(), ([name, { message }]) => ({ name, reason: message })),
    };
  }

  view(name: string): CatalogView {
    return viewOf(this.#catalogs.get(name));
  }

  /**
   * Changes the settings that are given, and creates the catalog if there is none.
   * @throws Problem unknown-policy; validation-failed for a parameter or a model of no use; unavailable for an embedder that is away
   */
  async configure(name: string, patch: CatalogSettingsPatch): Promise<CatalogView> {
    if (!this.#catalogs.serves(name)) this.#catalogs.get(name);
    const { embedder, ...settings } = patch;
    const ifPolicy = settings.policy === undefined ? undefined : this.#checkPolicy(name, settings.policy);
    await refusingUnusable(() => this.#checkModels(patch));
    const view = await this.#catalogs.create(name, async (catalog) => {
      await changeSettings(catalog, settings, ifPolicy);
      return viewOf(catalog);
    });
    if (embedder === undefined) return view;
    await this.#catalogs.holding(name, (catalog) => refusingUnusable(() => catalog.bindEmbedder(embedder)));
    return this.view(name);
  }

  /**
   * Checks a change of the policy before the catalog is created. Returns the name of the policy if the change holds for that
   * one alone: parameters without a name.
   * @throws Problem unknown-policy, validation-failed
   */
  #checkPolicy(name: string, change: PolicyPatch): string | undefined {
    const { policy } = this.#catalogs.find(name)?.state.settings ?? DEFAULT_CATALOG_SETTINGS;
    refusingPolicies('policy', () => changedPolicy(policy, change));
    return change.name === undefined && change.parameters !== undefined ? policy.name : undefined;
  }

  /** Deletes a catalog with everything that was learned. `default` is emptied: it always exists. */
  remove(name: string): Promise<void> {
    return this.#catalogs.remove(name);
  }

  /** Of everything that is known of a catalog here. */
  digest(name: string): Promise<StateDigest> {
    return this.#catalogs.holding(name, ({ replica }) => replica.digest());
  }
}

/**
 * Appends a change of settings to the ledger, with what tells its domains apart.
 * @param ifPolicy the name of the policy that is to be changed
 * @throws Problem validation-failed when the policy is another one by then, or a pin would be for a domain that there is not; unavailable
 * when examples of domains cannot be embedded now
 */
export async function changeSettings(
  catalog: Catalog,
  patch: SettingsPatch,
  ifPolicy?: string,
): Promise<void> {
  const attempt = async (): Promise<true | undefined> => {
    const { domains } = patch;
    const outcome = await catalog.replica.submit({
      kind: 'settings',
      key: `settings/${randomUUID()}`,
      at: catalog.now(),
      patch,
      ...(ifPolicy !== undefined && { ifPolicy }),
      ...(domains !== undefined && {
        domains: await refusingUnusable(() => domainRules(domains, catalog)),
      }),
    });
    if (outcome.kind !== 'settings-refused') return true;
    if (outcome.reason === 'stale') return undefined;
    throw outcome.reason === 'policy' ? otherPolicy(ifPolicy, outcome.policy) : noDomain(outcome);
  };
  await attemptChange(attempt, 'the examples of its domains were embedded');
}

function otherPolicy(meant: string | undefined, present: string): Problem {
  return new Problem(
    'validation-failed',
    `Another request has just changed the policy from "${meant}" to "${present}".`,
    'Send the parameters again with the `name` of the policy that they belong to.',
  );
}

function noDomain({ tool, domain }: { readonly tool: string; readonly domain: string }): Problem {
  const message = `the pin of "${tool}" is for the domain "${domain}", which the catalog would not have`;
  return new Problem(
    'validation-failed',
    `${message[0].toUpperCase()}${message.slice(1)}.`,
    'Put the domain first (`domains` of PUT /v1/catalogs/{catalog}), or take the pin back before its domain. Nothing was changed.',
    { violations: [{ path: 'domain', message }] },
  );
}

/**
 * Returns what `work` does. @throws Problem unknown-policy or validation-failed, for a PolicySettingsError
 * @param path where the policy stands in the request
 */
export function refusingPolicies<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PolicySettingsError)) throw error;
    const { message, suggestedFix, parameter } = error;
    const code = parameter === null ? 'unknown-policy' : 'validation-failed';
    const place = parameter === null ? path : `${path}.parameters.${parameter}`;
    throw new Problem(code, message, suggestedFix, { violations: [{ path: place, message }] });
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

/** The settings to change; what is left out stays as it is. */
export type CatalogSettingsPatch = SettingsPatch & {
  /** Moves the catalog to this embedding model; a command, and no part of the settings. */
  readonly embedder?: string;
};
