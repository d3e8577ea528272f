import { savedArray } from '../learner-codec.ts';
import type { LearnerState } from '../policy.ts';

/** Share of what is known that counts after each outcome: about the last 5,000 outcomes count. */
const KEPT = 1 - 1 / 5000;
/** A probability is as sure as this at most, so that one outcome against it still changes something. */
const LEAST_VARIANCE = 0.01;
const MOST_LOGIT = 30;

/** Where learning starts: a normal distribution with these means and variances, independent of each other. */
export interface LogisticPrior {
  readonly weights: readonly number[];
  readonly variances: readonly number[];
}

/**
 * Logistic regression that learns one outcome at a time: a normal distribution over the weights, updated by one Newton step each
 * (extended Kalman filter; Penny & Roberts 1999), which forgets slowly. A probability is moderated by how unsure the weights are
 * (MacKay 1992), so that it is near the mean as long as little is known. d features, d² numbers. Deterministic.
 */
export class OnlineLogistic {
  readonly #prior: LogisticPrior;
  #weights: Float64Array;
  /** P: d × d, symmetric. */
  #covariance: Float64Array;
  /** P·x of the example at hand. */
  readonly #spread: Float64Array;
  #outcomes = 0;

  constructor(prior: LogisticPrior) {
    this.#prior = prior;
    const d = prior.weights.length;
    this.#weights = Float64Array.from(prior.weights);
    this.#covariance = new Float64Array(d * d);
    this.#spread = new Float64Array(d);
    for (let i = 0; i < d; i++) this.#covariance[i * (d + 1)] = prior.variances[i];
  }

  /** How many outcomes were learned. */
  get outcomes(): number {
    return this.#outcomes;
  }

  /** w, for looking at it. */
  get weights(): Float64Array {
    return this.#weights.slice();
  }

  /** Returns the moderated log-odds of success: log p/(1 − p). */
  logit(features: ArrayLike<number>): number {
    this.#check(features);
    const variance = dot(features, this.#spreadOf(features));
    const logit = dot(features, this.#weights) / Math.sqrt(1 + (Math.PI / 8) * Math.max(0, variance));
    return Math.min(MOST_LOGIT, Math.max(-MOST_LOGIT, logit));
  }

  /** Returns the probability of success, 0…1. */
  probability(features: ArrayLike<number>): number {
    return logistic(this.logit(features));
  }

  /** @param outcome y, 0…1: a success, a failure, or something between. @throws RangeError; nothing is learned then */
  learn(features: ArrayLike<number>, outcome: number): void {
    if (!(outcome >= 0 && outcome <= 1)) throw new RangeError(`An outcome is 0 to 1, not ${outcome}.`);
    this.#check(features);
    this.#inflate();
    const expected = logistic(dot(features, this.#weights));
    const curvature = Math.max(LEAST_VARIANCE, expected * (1 - expected));
    const spread = this.#spreadOf(features);
    const scale = 1 / (1 + curvature * Math.max(0, dot(features, spread)));
    const d = spread.length;
    for (let i = 0; i < d; i++) {
      const change = curvature * scale * spread[i];
      for (let j = 0; j < d; j++) this.#covariance[i * d + j] -= change * spread[j];
      this.#weights[i] += scale * spread[i] * (outcome - expected);
    }
    this.#outcomes++;
  }

  /** The outcome of an example that was learned changed by `delta`. @throws RangeError */
  correct(features: ArrayLike<number>, delta: number): void {
    if (!Number.isFinite(delta))
      throw new RangeError(`An outcome changes by a finite amount, not by ${delta}.`);
    this.#check(features);
    const spread = this.#spreadOf(features);
    for (let i = 0; i < spread.length; i++) this.#weights[i] += spread[i] * delta;
  }

  save(): LearnerState['arrays'] {
    return {
      weights: this.#weights.slice(),
      covariance: this.#covariance.slice(),
      outcomes: Float64Array.of(this.#outcomes),
    };
  }

  /** @throws Error when an array is missing or of another length */
  static load(prior: LogisticPrior, arrays: LearnerState['arrays']): OnlineLogistic {
    const model = new OnlineLogistic(prior);
    const d = prior.weights.length;
    model.#weights = savedArray(arrays, 'weights', Float64Array, d).slice();
    model.#covariance = savedArray(arrays, 'covariance', Float64Array, d * d).slice();
    [model.#outcomes] = savedArray(arrays, 'outcomes', Float64Array, 1);
    return model;
  }

  /** P·x; valid until the next call. */
  #spreadOf(features: ArrayLike<number>): Float64Array {
    const d = this.#weights.length;
    const spread = this.#spread;
    for (let i = 0; i < d; i++) {
      let sum = 0;
      for (let j = 0; j < d; j++) sum += this.#covariance[i * d + j] * features[j];
      spread[i] = sum;
    }
    return spread;
  }

  /** Grows P a little, and no variance beyond its first one: what was learned long ago counts less. */
  #inflate(): void {
    const d = this.#weights.length;
    const growth: number[] = [];
    for (let i = 0; i < d; i++) {
      const room = this.#prior.variances[i] / Math.max(Number.MIN_VALUE, this.#covariance[i * (d + 1)]);
      growth.push(Math.sqrt(Math.max(1, Math.min(1 / KEPT, room))));
    }
    for (let i = 0; i < d; i++) {
      for (let j = 0; j < d; j++) this.#covariance[i * d + j] *= growth[i] * growth[j];
    }
  }

  #check(features: ArrayLike<number>): void {
    const { length } = this.#weights;
    if (features.length !== length) {
      throw new RangeError(`There are ${length} features here, not ${features.length}.`);
    }
    for (let i = 0; i < length; i++) {
      if (!Number.isFinite(features[i])) throw new RangeError(`A feature is finite, not ${features[i]}.`);
    }
  }
}

export function logistic(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
