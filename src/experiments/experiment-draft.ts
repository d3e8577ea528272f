import type { Catalog } from '../catalog/catalog.ts';
import { refusingPolicies } from '../catalog/catalog-administration.ts';
import { Problem } from '../errors/problem.ts';
import type { DetailLevel, PolicyPatch, PolicySettings } from '../ledger/catalog-settings.ts';
import {
  type AutomaticPromotion,
  type ContextValue,
  type ExperimentDefinition,
  type ExperimentGuardrail,
  isHarmful,
  type Metric,
  type VariantDefinition,
} from '../ledger/experiment-definition.ts';
import { completePolicy } from '../state/policy-settings.ts';

/** An experiment as a user describes it; fields that are left out have defaults. */
export interface ExperimentDraft {
  readonly name: string;
  readonly unit: ExperimentDefinition['unit'];
  readonly variants: readonly VariantDraft[];
  readonly against?: string | undefined;
  readonly salt?: string | undefined;
  readonly layer?: string | undefined;
  /** Percent of the layer, 0 < traffic ≤ 100. */
  readonly traffic?: number | undefined;
  readonly target?: Readonly<Record<string, ContextValue | readonly ContextValue[]>> | undefined;
  readonly metric?: Metric | undefined;
  readonly minimumLift?: number | undefined;
  readonly alpha?: number | undefined;
  readonly tightestAt?: number | undefined;
  readonly guardrails?: readonly GuardrailDraft[] | undefined;
  readonly automatic?: boolean | Partial<AutomaticPromotion> | undefined;
}

export interface VariantDraft {
  readonly name: string;
  /** Of all variants together 100, 1 or 10,000; 0 or nothing for shadows. */
  readonly share?: number | undefined;
  /** Settings, the name of a policy, or a version that is kept; nothing: the catalog's own, at the start. */
  readonly policy?: string | (PolicyPatch & { readonly name: string }) | undefined;
  readonly mode?: VariantDefinition['mode'] | undefined;
  readonly learnsFrom?: VariantDefinition['learnsFrom'] | undefined;
  readonly startsFrom?: VariantDefinition['startsFrom'] | undefined;
  /** Nothing: what the catalog says at the start, if another variant says something, else what it says at any time. */
  readonly detail?: DetailLevel | undefined;
}

export type GuardrailDraft = Omit<ExperimentGuardrail, 'harm' | 'tolerance'> &
  Partial<Pick<ExperimentGuardrail, 'harm' | 'tolerance'>>;

const DEFAULT_AUTOMATIC: AutomaticPromotion = { minimumUnits: 500, minimumHours: 24 };

/** Returns the definition with all defaults filled in. @throws Problem validation-failed or unknown-policy */
export function completeDraft(draft: ExperimentDraft, catalog: Catalog): ExperimentDefinition {
  const { name, metric = 'reward', guardrails = [], automatic = false } = draft;
  const names = draft.variants.map((variant) => variant.name);
  if (new Set(names).size < names.length) refuse('variants', 'Two variants have the same name.');
  const serving = draft.variants.filter(({ mode }) => mode !== 'shadow');
  if (serving.length === 0) refuse('variants', 'Every variant is a shadow: at least one has to serve.');
  const ghost = draft.variants.findIndex(({ mode, share = 0 }) => mode === 'shadow' && share !== 0);
  if (ghost >= 0) refuse(`variants[${ghost}].share`, 'A shadow serves no requests: its share is 0.');
  const unserved = draft.variants.findIndex(({ mode, detail }) => mode === 'shadow' && detail !== undefined);
  if (unserved >= 0)
    refuse(`variants[${unserved}].detail`, 'A shadow serves no requests: leave `detail` out.');
  const against = draft.against ?? serving[0].name;
  if (!serving.some((variant) => variant.name === against)) {
    refuse('against', `"${against}" is no variant that serves.`);
  }
  if (automatic && serving.length !== 2) {
    refuse('automatic', 'Automatic promotion needs exactly one challenger: two variants that serve.');
  }
  // The challenger of an automatic experiment begins with a tenth.
  const begins = automatic !== false && serving.every(({ share }) => share === undefined);
  const shares = basisPoints(
    serving.map(({ name: variant, share = 0 }) => [
      variant,
      begins ? (variant === against ? 90 : 10) : share,
    ]),
  );
  return {
    name,
    unit: draft.unit,
    variants: draft.variants.map((variant, index) => ({
      name: variant.name,
      share: shares.get(variant.name) ?? 0,
      policy:
        variant.policy === undefined ? null : policyOf(variant.policy, catalog, `variants[${index}].policy`),
      mode: variant.mode ?? 'live',
      learnsFrom: variant.learnsFrom ?? 'all',
      startsFrom: variant.startsFrom ?? 'kept',
      detail: variant.detail ?? null,
    })),
    against,
    salt: draft.salt ?? `${catalog.name}/${name}`,
    layer: draft.layer ?? 'ranking',
    traffic: Math.round((draft.traffic ?? 100) * 100),
    target: Object.fromEntries(
      Object.entries(draft.target ?? {}).map(([key, values]) => [
        key,
        Array.isArray(values) ? values : [values],
      ]),
    ),
    metric,
    minimumLift: draft.minimumLift ?? 0,
    alpha: draft.alpha ?? 0.05,
    tightestAt: draft.tightestAt ?? 10_000,
    guardrails: guardrails.map((rail) => ({
      metric: rail.metric,
      harm: rail.harm ?? (isHarmful(rail.metric) ? 'rise' : 'fall'),
      tolerance: rail.tolerance ?? 0,
    })),
    automatic:
      automatic === false ? null : { ...DEFAULT_AUTOMATIC, ...(automatic === true ? {} : automatic) },
  };
}

/** Returns the settings of a policy that a request names. @throws Problem unknown-policy, validation-failed */
export function policyOf(
  policy: NonNullable<VariantDraft['policy']>,
  { state }: Catalog,
  path: string,
): PolicySettings {
  const kept = typeof policy === 'string' ? state.learners.get(policy) : undefined;
  if (kept !== undefined) return kept.settings;
  return refusingPolicies(path, () => completePolicy(typeof policy === 'string' ? { name: policy } : policy));
}

function refuse(path: string, message: string): never {
  throw new Problem('validation-failed', message, 'Correct what `violations` lists and send it again.', {
    violations: [{ path, message }],
  });
}

/** One percent. */
const BASIS_POINTS = 100;

/** Returns shares, given in percent, as whole basis points. @throws Problem validation-failed */
export function basisPoints(
  shares: readonly (readonly [name: string, percent: number])[],
): Map<string, number> {
  const sum = shares.reduce((total, [, percent]) => total + percent, 0);
  if (Math.abs(sum - 100) > 1e-7) {
    throw refused(
      `The shares add up to ${Number(sum.toPrecision(6))}: they have to add up to 100 (percent).`,
    );
  }
  const whole = shares.map(([name, percent]) => [name, Math.round(percent * BASIS_POINTS)] as const);
  const isWhole = shares.every(([, percent], i) => Math.abs(percent * BASIS_POINTS - whole[i][1]) < 1e-6);
  if (!isWhole) throw refused('Shares can be divided down to 0.01 % and no further.');
  return new Map(whole);
}

function refused(message: string): Problem {
  return new Problem('validation-failed', message, 'Give shares in percent that add up to 100.', {
    violations: [{ path: 'variants', message }],
  });
}
