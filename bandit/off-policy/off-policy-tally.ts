import { UnitTotals, type UnitTotalsState } from '../statistics/unit-totals.ts';

/** One logged decision and what the candidate policy would have done; one value per candidate unless said. */
export interface EvaluatedDecision {
  /** p: probability that the logging policy put the candidate into the slate. */
  readonly propensities: ArrayLike<number>;
  /** π: probability that the evaluated policy would have; 0 or 1 for a policy without exploration. */
  readonly target: ArrayLike<number>;
  /** r̂: what some model expects as reward; it may be wrong, but must not know this decision's rewards. */
  readonly expected: ArrayLike<number>;
  /** Indices of the candidates that were shown. */
  readonly slate: ArrayLike<number>;
  /** r of each shown candidate, in the order of the slate. */
  readonly rewards: ArrayLike<number>;
}

/** Plain JSON. */
export interface OffPolicyTallyState {
  readonly clip: number;
  readonly units: UnitTotalsState;
  readonly sums: readonly number[];
}

/** No weight counts more than this. Lower: less variance, and more of the target that only a bound speaks for. */
export const DEFAULT_CLIP = 1000;

/** A candidate with a smaller propensity is treated as never shown. */
export const THIN_PROPENSITY = 0.01;

/** Columns of the moments: sums over the decisions of a unit. */
export const DECISIONS = 0;
/** Σ π over the candidates: the size of the target's slate. */
export const SIZE = 1;
/** Σ w·r over the slate, w = min(π/p, clip). */
export const IPS = 2;
/** Σ w over the slate. */
export const WEIGHT = 3;
/** Σ π·r̂ over the candidates + Σ w(r − r̂) over the slate. */
export const DOUBLY_ROBUST = 4;
/** Doubly robust for the logging policy, whose π is p: Σ p·r̂ over the candidates + Σ (r − r̂) over the slate. */
export const LOGGED = 5;
const COLUMNS = 6;

/**
 * Keeps everything that inverse-propensity estimates of one candidate policy need, updated one decision at a time, for slates
 * with a reward per shown tool and known marginal propensities. The estimates are unbiased if a tool's reward does not depend
 * on the other tools of the slate.
 */
export class OffPolicyTally {
  readonly clip: number;
  readonly #units: UnitTotals;
  readonly #sums = { lost: 0, thin: 0, squaresExpected: 0, squaresSeen: 0, shown: 0, clipped: 0 };

  /** @param clip > 1. */
  constructor(clip: number = DEFAULT_CLIP, units: UnitTotals = new UnitTotals(COLUMNS)) {
    if (!(clip > 1)) throw new RangeError(`weights cannot be clipped at ${clip}: give a number above 1`);
    this.clip = clip;
    this.#units = units;
  }

  /**
   * Adds a decision.
   * @param unit decisions of one unit are correlated, so intervals are made from sums per unit. null: every decision is a unit.
   * @throws RangeError, with nothing changed, for an invalid log: probabilities outside 0…1, a shown candidate with propensity 0,
   *   rewards that are not finite.
   */
  add(decision: EvaluatedDecision, unit: string | null): void {
    checkLengths(decision);
    const { propensities, target, expected, slate, rewards } = decision;
    let size = 0;
    let model = 0;
    let logged = 0;
    let lost = 0;
    let thin = 0;
    let squaresExpected = 0;
    for (let a = 0; a < target.length; a++) {
      const pi = target[a];
      const p = propensities[a];
      if (!(pi >= 0 && pi <= 1 && p >= 0 && p <= 1)) {
        throw new RangeError(
          `candidate ${a} has propensity ${p} and target probability ${pi}: both are 0 to 1`,
        );
      }
      logged += p * expected[a];
      if (pi === 0) continue;
      const weight = p > 0 ? Math.min(pi / p, this.clip) : 0;
      size += pi;
      model += pi * expected[a];
      lost += pi - weight * p;
      if (p < THIN_PROPENSITY) thin += pi;
      squaresExpected += weight * weight * p;
    }
    let ips = 0;
    let weights = 0;
    let correction = 0;
    let squaresSeen = 0;
    let clipped = 0;
    for (let i = 0; i < slate.length; i++) {
      const a = slate[i];
      const p = propensities[a];
      if (!(p > 0))
        throw new RangeError(`candidate ${a} was shown with propensity ${p}: the log contradicts itself`);
      const weight = Math.min(target[a] / p, this.clip);
      if (weight === this.clip) clipped += 1;
      ips += weight * rewards[i];
      weights += weight;
      correction += weight * (rewards[i] - expected[a]);
      logged += rewards[i] - expected[a];
      squaresSeen += weight * weight;
    }
    this.#units.add(unit, [1, size, ips, weights, model + correction, logged]);
    this.#sums.lost += lost;
    this.#sums.thin += thin;
    this.#sums.squaresExpected += squaresExpected;
    this.#sums.squaresSeen += squaresSeen;
    this.#sums.shown += slate.length;
    this.#sums.clipped += clipped;
  }

  /** Moments of the columns above, over units. */
  get moments() {
    return this.#units.moments;
  }

  get decisions(): number {
    return this.moments.sum(DECISIONS);
  }

  /** Effective sample size in units: (Σw)²/Σw², w summed per unit. */
  get effectiveSampleSize(): number {
    const { moments } = this;
    const sum = moments.sum(WEIGHT);
    const squares = moments.covariance(WEIGHT, WEIGHT) * (moments.count - 1) + sum * moments.mean(WEIGHT);
    return squares > 0 ? (sum * sum) / squares : 0;
  }

  /** Share of the target's slates that the log (almost) never shows: propensity below THIN_PROPENSITY. */
  get thinShare(): number {
    return ratio(this.#sums.thin, this.moments.sum(SIZE));
  }

  /** Tools per decision of the target's slates that clipping and propensities of 0 take out of the estimate. */
  get lostPerDecision(): number {
    return ratio(this.#sums.lost, this.decisions);
  }

  /** Share of the shown tools whose weight was clipped. */
  get clippedShare(): number {
    return ratio(this.#sums.clipped, this.#sums.shown);
  }

  /**
   * Ratio of the squared weights that are expected by design to those that were observed, never below 1. It corrects a sample
   * variance for rare large weights that were not observed.
   */
  get missingVariance(): number {
    return Math.max(1, ratio(this.#sums.squaresExpected, this.#sums.squaresSeen));
  }

  /** Call when a unit makes no more decisions: its totals are not kept then. */
  release(unit: string): void {
    this.#units.release(unit);
  }

  save(): OffPolicyTallyState {
    return { clip: this.clip, units: this.#units.save(), sums: SUMS.map((name) => this.#sums[name]) };
  }

  static load(state: OffPolicyTallyState): OffPolicyTally {
    const tally = new OffPolicyTally(state.clip, UnitTotals.load(state.units));
    SUMS.forEach((name, i) => {
      tally.#sums[name] = state.sums[i];
    });
    return tally;
  }
}

const SUMS = ['lost', 'thin', 'squaresExpected', 'squaresSeen', 'shown', 'clipped'] as const;

function ratio(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

function checkLengths({ propensities, target, expected, slate, rewards }: EvaluatedDecision): void {
  const candidates = propensities.length;
  if (target.length !== candidates || expected.length !== candidates) {
    throw new RangeError(
      `${candidates} propensities, ${target.length} target probabilities and ${expected.length} expected rewards: ` +
        'give one of each per candidate',
    );
  }
  if (rewards.length !== slate.length) {
    throw new RangeError(`${rewards.length} rewards for ${slate.length} shown candidates: give one each`);
  }
}
