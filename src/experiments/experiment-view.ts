import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { ExperimentDefinition, VariantDefinition } from '../ledger/experiment-definition.ts';
import type { ExperimentRecord, ExperimentStatus } from '../state/experiments/experiment-record.ts';

/** An experiment as users see it. */
export interface ExperimentView extends Omit<ExperimentDefinition, 'variants' | 'traffic'> {
  readonly catalog: string;
  readonly status: ExperimentStatus;
  /** Percent of its layer. */
  readonly traffic: number;
  readonly variants: readonly VariantView[];
  /** The variant that was promoted. */
  readonly promoted: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly history: readonly {
    readonly at: string;
    readonly action: string;
    readonly actor: string | null;
    readonly note: string;
  }[];
}

export interface VariantView {
  readonly name: string;
  /** Percent of the experiment's units. */
  readonly share: number;
  /** Null in a draft: it gets the policy of the catalog at the start. */
  readonly policy: PolicySettings | null;
  /** Version of the policy that ranks for it; null before the start. */
  readonly version: string | null;
  readonly mode: VariantDefinition['mode'];
  readonly learnsFrom: VariantDefinition['learnsFrom'];
  readonly startsFrom: VariantDefinition['startsFrom'];
  readonly detail: VariantDefinition['detail'];
  readonly killed: boolean;
  /** Why a guardrail took it out; null: it did not. */
  readonly outBecause: string | null;
}

export function viewOf(record: ExperimentRecord, catalog: string): ExperimentView {
  const { definition, status, promoted } = record;
  return {
    ...definition,
    catalog,
    status,
    traffic: definition.traffic / 100,
    variants: definition.variants.map((variant) => ({
      ...variant,
      share: (record.shares.get(variant.name) ?? 0) / 100,
      ...record.variants.get(variant.name)!,
    })),
    promoted,
    startedAt: isoTime(record.startedAt),
    endedAt: isoTime(record.endedAt),
    history: record.history.map((event) => ({ ...event, at: new Date(event.at).toISOString() })),
  };
}

export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
