import { policyKind, policyParameters } from '../../bandit/policies/registry.ts';
import type { PolicySettings, SettingsPatch } from '../ledger/catalog-settings.ts';

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
