import { confidenceSequence, type Interval, type SequenceSettings } from './confidence-sequence.ts';
import { type Difference, difference } from './difference.ts';
import type { ExperimentTally } from './experiment-tally.ts';
import { fixedHorizonInterval } from './fixed-horizon.ts';
import { type Guardrail, type GuardrailState, guardrailState } from './guardrail.ts';
import { type SampleRatio, sampleRatio } from './sample-ratio.ts';
import { type Challenge, type DecisionRule, type Verdict, verdict } from './verdict.ts';

export interface ReportSettings extends SequenceSettings, DecisionRule {
  /** The variant that all others are compared with. */
  readonly against: string;
  readonly guardrails: readonly Guardrail[];
  /** Correct by the covariate that came with the events (CUPED). */
  readonly withCovariate: boolean;
}

export interface ExperimentReport extends Verdict {
  readonly variants: readonly VariantReport[];
  readonly srm: SampleRatio;
  readonly differences: readonly DifferenceReport[];
  readonly guardrails: readonly (GuardrailState & { readonly variant: string })[];
}

export interface VariantReport {
  readonly name: string;
  readonly units: number;
  readonly decisions: number;
  /** Per metric: the mean over the decisions that have it, null if none has. */
  readonly means: Readonly<Record<string, number | null>>;
}

/** `estimate` and everything after it is null while there are too few units. */
export interface DifferenceReport {
  readonly metric: string;
  readonly variant: string;
  readonly against: string;
  readonly estimate: number | null;
  /** Valid at every moment, for all variants of this metric together. */
  readonly lower: number | null;
  readonly upper: number | null;
  readonly pValue: number | null;
  /** Valid for one look that was planned beforehand, for this variant alone. */
  readonly fixedHorizon: (Interval & { readonly pValue: number }) | null;
  /** Share of the variance that the covariate took away. */
  readonly varianceReduction: number | null;
}

/** Returns the statistics of an experiment now. Pure; may be called after every event. */
export function reportExperiment(tally: ExperimentTally, settings: ReportSettings): ExperimentReport {
  const challengers = tally.variants.filter((name) => name !== settings.against);
  // Bonferroni: with several challengers each gets its part of the probability of a false alarm.
  const sequence = { ...settings, alpha: settings.alpha / Math.max(1, challengers.length) };
  const compare = (metric: string, variant: string) =>
    difference(tally.pairs(metric, variant, settings.against, settings.withCovariate));
  const challenges = challengers.map((variant): Challenge => {
    const found = compare(settings.metric, variant);
    return {
      variant,
      against: settings.against,
      interval: found === null ? null : { estimate: found.estimate, ...confidenceSequence(found, sequence) },
      guardrails: settings.guardrails.map((rail) =>
        guardrailState(rail, compare(rail.metric, variant), sequence),
      ),
    };
  });
  const srm = sampleRatio(tally.sharePeriods());
  return {
    variants: tally.variants.map((name) => variantReport(tally, name)),
    srm,
    differences: challengers.flatMap((variant) =>
      tally.metrics.map((metric) => ({
        metric,
        variant,
        against: settings.against,
        ...differenceReport(compare(metric, variant), sequence, settings.alpha),
      })),
    ),
    guardrails: challenges.flatMap(({ variant, guardrails }) =>
      guardrails.map((rail) => ({ ...rail, variant })),
    ),
    ...verdict(settings, challenges, srm),
  };
}

function variantReport(tally: ExperimentTally, name: string): VariantReport {
  const means = tally.metrics.map((metric) => {
    const { sum, of } = tally.total(name, metric);
    return [metric, of > 0 ? sum / of : null];
  });
  return {
    name,
    units: tally.units(name),
    decisions: tally.decisions(name),
    means: Object.fromEntries(means),
  };
}

function differenceReport(found: Difference | null, sequence: SequenceSettings, alpha: number) {
  if (found === null) {
    return {
      estimate: null,
      lower: null,
      upper: null,
      pValue: null,
      fixedHorizon: null,
      varianceReduction: null,
    };
  }
  return {
    estimate: found.estimate,
    ...confidenceSequence(found, sequence),
    fixedHorizon: fixedHorizonInterval(found, alpha),
    varianceReduction: found.varianceReduction,
  };
}
