import type { SequenceInterval } from './confidence-sequence.ts';
import type { GuardrailState } from './guardrail.ts';
import type { SampleRatio } from './sample-ratio.ts';

/** What is known about one variant, compared with the one it shall replace. */
export interface Challenge {
  readonly variant: string;
  readonly against: string;
  /** Of the deciding metric, variant − against; null: too few units to say anything. */
  readonly interval: (SequenceInterval & { readonly estimate: number }) | null;
  readonly guardrails: readonly GuardrailState[];
}

/** true: better, may be promoted. false: it is not, stop. null: not known yet, go on. */
export interface Verdict {
  readonly decision: boolean | null;
  /** One sentence that says why. */
  readonly reason: string;
  /** The variant a decision of true is about. */
  readonly winner: string | null;
}

/** What the deciding metric is, and what counts as better. */
export interface DecisionRule {
  readonly metric: string;
  /** Smaller is better for costs, latencies and tokens. */
  readonly better: 'higher' | 'lower';
  /** A variant wins when its advantage is surely above this, ≥ 0, and loses when it is surely not above it. */
  readonly minimumLift: number;
}

/**
 * The rule, in this order: a split that is not the one asked for decides nothing; a variant that broke a guardrail is
 * out; a variant whose whole interval lies above the minimum lift wins (the one with the largest estimate, if several
 * do); if every variant is out or surely below, the answer is no; otherwise it is open.
 *
 * The intervals must be valid at every moment and already account for the number of variants.
 */
export function verdict(rule: DecisionRule, challenges: readonly Challenge[], ratio: SampleRatio): Verdict {
  if (!ratio.ok) {
    return undecided(
      `The units are not split as the shares say (p = ${number(ratio.pValue)}), so no comparison can be trusted; ` +
        'find out which units are lost or counted twice.',
    );
  }
  const judged = challenges.map((challenge) => ({ challenge, ...judge(rule, challenge) }));
  const winners = judged.filter(({ state }) => state === 'better');
  if (winners.length > 0) {
    const best = winners.reduce((a, b) => (b.advantage > a.advantage ? b : a));
    return { decision: true, reason: best.sentence, winner: best.challenge.variant };
  }
  const open = judged.filter(({ state }) => state === 'open');
  if (judged.length > 0 && open.length === 0) {
    return { decision: false, reason: judged.map(({ sentence }) => sentence).join(' '), winner: null };
  }
  return undecided(
    open.length > 0 ? open[0].sentence : 'There is nothing to compare: the experiment has one variant.',
  );
}

type Judgement = { state: 'better' | 'out' | 'open'; advantage: number; sentence: string };

function judge(rule: DecisionRule, { variant, against, interval, guardrails }: Challenge): Judgement {
  const breached = guardrails.find(({ state }) => state === 'breached');
  if (breached !== undefined) {
    const sentence = `${variant} breaks the guardrail ${breached.metric}: at least ${number(breached.atLeast)} worse than ${against}.`;
    return { state: 'out', advantage: 0, sentence };
  }
  if (interval === null) {
    const sentence = `There are too few units in ${variant} or ${against} to say anything about ${rule.metric}.`;
    return { state: 'open', advantage: 0, sentence };
  }
  const sign = rule.better === 'higher' ? 1 : -1;
  const [low, high] = sign > 0 ? [interval.lower, interval.upper] : [-interval.upper, -interval.lower];
  const advantage = sign * interval.estimate;
  const range = `${number(advantage)} (${number(low)} to ${number(high)})`;
  const lift = rule.minimumLift > 0 ? `the minimum lift of ${number(rule.minimumLift)}` : '0';
  if (low > rule.minimumLift) {
    const unproved = guardrails.filter(({ state }) => state === 'open').map(({ metric }) => metric);
    const caution = unproved.length > 0 ? `; not yet proved harmless: ${unproved.join(', ')}` : '';
    const sentence = `${variant} is better than ${against} in ${rule.metric} by ${range}, surely above ${lift}${caution}.`;
    return { state: 'better', advantage, sentence };
  }
  if (high <= rule.minimumLift) {
    const sentence = `${variant} is not better than ${against} in ${rule.metric}: ${range}, surely not above ${lift}.`;
    return { state: 'out', advantage, sentence };
  }
  const sentence = `${variant} against ${against} in ${rule.metric} is open: ${range} still reaches over ${lift}.`;
  return { state: 'open', advantage, sentence };
}

function undecided(reason: string): Verdict {
  return { decision: null, reason, winner: null };
}

/** Three significant digits, without an exponent where that can be avoided. */
function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}
