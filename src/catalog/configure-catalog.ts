import { policyKind, policyParameters } from '../../bandit/policies/registry.ts';
import type { CatalogSettings, PolicySettings, RewardContract } from '../ledger/catalog-settings.ts';

/** The settings to change; what is left out stays as it is. A policy is given whole, by name. */
export interface CatalogSettingsPatch {
  readonly policy?: Partial<Omit<PolicySettings, 'name'>> & { readonly name: string };
  readonly rewards?: Partial<RewardContract>;
  readonly embedder?: string;
  readonly ignoreDates?: boolean;
  readonly reranker?: CatalogSettings['reranker'];
  readonly decomposition?: CatalogSettings['decomposition'];
  readonly failMode?: CatalogSettings['failMode'];
  readonly killSwitch?: boolean;
  readonly retainText?: boolean;
  readonly forgetRemovedAfterDays?: number;
  readonly pins?: CatalogSettings['pins'];
}

/** @throws PolicySettingsError when the policy or one of its parameters does not exist or is out of range. */
export function applySettings(settings: CatalogSettings, patch: CatalogSettingsPatch): CatalogSettings {
  const { policy, rewards, ...rest } = patch;
  return {
    ...settings,
    ...rest,
    policy: policy === undefined ? settings.policy : completePolicy(policy),
    rewards: { ...settings.rewards, ...rewards },
  };
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
