import type { LearnerState, Policy } from '../policy.ts';
import { COSINE, HYBRID, UNIFORM } from './fixed-ranking.ts';
import { ITR } from './itr.ts';
import { LIN_TS } from './lin-ts.ts';
import {
  type PolicyContext,
  type PolicyKind,
  type PolicyParameter,
  PolicySettingsError,
} from './policy-kind.ts';
import { SC_LINUCB } from './sc-linucb.ts';
import { SC_LINUCB_CONTEXT } from './sc-linucb-context.ts';
import { SC_LINUCB_MEMORY } from './sc-linucb-memory.ts';

/** All policies. A new one is a file beside these and a line here; tests and benches find it by this list. */
export const POLICY_KINDS: readonly PolicyKind[] = [
  SC_LINUCB_MEMORY,
  SC_LINUCB_CONTEXT,
  SC_LINUCB,
  LIN_TS,
  ITR,
  COSINE,
  HYBRID,
  UNIFORM,
];

/** @throws PolicySettingsError when there is no policy of this name. */
export function policyKind(name: string): PolicyKind {
  const kind = POLICY_KINDS.find((candidate) => candidate.name === name);
  if (kind === undefined) {
    const fix = POLICY_KINDS.map((one) => `${one.name}: ${one.sentence}`).join(' ');
    throw new PolicySettingsError(`There is no policy “${name}”. There are ${listed(POLICY_KINDS)}.`, fix);
  }
  return kind;
}

/**
 * Returns all parameters of a policy, with defaults filled in.
 * @throws PolicySettingsError on an unknown policy or parameter, or a value out of range.
 */
export function policyParameters(
  name: string,
  given: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const { parameters } = policyKind(name);
  for (const key of Object.keys(given)) {
    if (parameters.some((parameter) => parameter.name === key)) continue;
    const known = parameters.length === 0 ? 'It has none' : `It has ${listed(parameters)}`;
    const fix = parameters.length === 0 ? 'Leave `parameters` out.' : parameters.map(described).join(' ');
    throw new PolicySettingsError(`Policy “${name}” has no parameter “${key}”. ${known}.`, fix, key);
  }
  const complete: Record<string, number> = {};
  for (const parameter of parameters) {
    const { name: key, default: standard, minimum, maximum, integer } = parameter;
    const value = Object.hasOwn(given, key) ? given[key] : standard;
    if (!(value >= minimum && value <= maximum) || (integer && !Number.isInteger(value))) {
      throw new PolicySettingsError(
        `Parameter “${key}” of policy “${name}” is ${rangeOf(parameter)}, not ${value}.`,
        described(parameter),
        key,
      );
    }
    complete[key] = value;
  }
  return complete;
}

/** Creates a policy that has learned nothing. @throws PolicySettingsError like `policyParameters`. */
export function createPolicy(name: string, context: PolicyContext): Policy {
  const parameters = policyParameters(name, context.parameters);
  return policyKind(name).create({ ...context, parameters });
}

/**
 * Loads a saved policy.
 * @throws PolicySettingsError like `policyParameters`. @throws Error when the state is of another policy.
 */
export function loadPolicy(name: string, context: PolicyContext, state: LearnerState): Policy {
  if (state.policy !== name) {
    throw new Error(`A learner of policy “${state.policy}” cannot go on as “${name}”.`);
  }
  const parameters = policyParameters(name, context.parameters);
  return policyKind(name).load({ ...context, parameters }, state);
}

function rangeOf({ minimum, maximum, integer }: PolicyParameter): string {
  return `${integer ? 'a whole number' : 'a number'} from ${minimum} to ${maximum}`;
}

function described(parameter: PolicyParameter): string {
  return `${parameter.name} (${rangeOf(parameter)}, ${parameter.default} by default): ${parameter.sentence}`;
}

function listed(named: readonly { readonly name: string }[]): string {
  return named.map(({ name }) => `“${name}”`).join(', ');
}
