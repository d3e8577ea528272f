import { policyKind, policyParameters } from '../../bandit/policies/registry.ts';
import type { PolicyPatch, PolicySettings } from '../ledger/catalog-settings.ts';
import type { VariantDefinition } from '../ledger/experiment-definition.ts';

const DEFAULT_TEMPERATURE = 0.03;

/** Returns the settings of a policy, with the defaults of its kind. @throws PolicySettingsError */
export function completePolicy(given: PolicyPatch & { readonly name: string }): PolicySettings {
  const { name, parameters = {}, exploration, temperature = DEFAULT_TEMPERATURE } = given;
  const kind = policyKind(name);
  policyParameters(name, parameters);
  return { name, parameters, exploration: exploration ?? kind.defaultExploration, temperature };
}

/**
 * Returns settings after a change: what is left out stays, also single parameters. Another name starts from the defaults of
 * that policy.
 * @throws PolicySettingsError
 */
export function changedPolicy(present: PolicySettings, patch: PolicyPatch): PolicySettings {
  const { name = present.name } = patch;
  if (name !== present.name) return completePolicy({ ...patch, name });
  const parameters = { ...present.parameters, ...patch.parameters };
  return completePolicy({ ...present, ...patch, parameters });
}

/** Returns text that is equal for settings whose learners are the same. It leaves out exploration. */
export function identityOf({ name, parameters }: PolicySettings): string {
  return JSON.stringify([name, Object.entries(policyParameters(name, parameters)).sort()]);
}

/** Returns whether two policies rank and draw alike, once defaults are filled in. */
export function isSamePolicy(one: PolicySettings, other: PolicySettings): boolean {
  const draws = ({ exploration, temperature }: PolicySettings) =>
    exploration === 'plackett-luce' ? temperature : exploration;
  return identityOf(one) === identityOf(other) && draws(one) === draws(other);
}

/** Returns whether two variants do the same with the same policy; false as long as the policy of one is not known. */
export function isSameVariant(one: VariantDefinition, other: VariantDefinition): boolean {
  const way = ({ mode, learnsFrom, startsFrom, detail }: VariantDefinition) =>
    `${mode} ${learnsFrom} ${startsFrom} ${detail}`;
  if (one.policy === null || other.policy === null) return false;
  return way(one) === way(other) && isSamePolicy(one.policy, other.policy);
}
