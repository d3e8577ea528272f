import type { LearnerState } from '../policy.ts';
import { type LogisticPrior, OnlineLogistic } from './online-logistic.ts';
import { Reliability } from './reliability.ts';

/** Weights by which sufficiency is predicted before anything was learned, by `SUFFICIENCY_FEATURES`. */
const FIRST: LogisticPrior = {
  weights: [-2, 2, 1, 1, 2, 1, 0.5, 0.5, 0.5, 1, -1],
  variances: [4, 4, 4, 4, 4, 4, 4, 1, 1, 4, 4],
};
/** Weights of [log-odds without the rating; 1; rating − ½]: a rating is believed before there are outcomes, but not blindly. */
const FIRST_RATED: LogisticPrior = { weights: [1, 0, 3], variances: [0.25, 1, 4] };

/** An example that sufficiency is predicted and learned from. */
export interface SufficiencyExample {
  /** Features as `sufficiencyFeatures` returns them. */
  readonly features: ArrayLike<number>;
  /** Rating by the model that has to work with the slate: how far it suffices, 0…1; absent: it was not asked. */
  readonly rating?: number | undefined;
  /** The probability that was served; absent: none was. */
  readonly predicted?: number | undefined;
}

/**
 * Learns the probability that the slate of a decision suffices: that the task succeeds with it, and without a discovery of further tools. It
 * learns from how decisions ended, and is judged by whether what it predicted came true. The rating of the model itself is a feature of a second
 * regression over the first one's log-odds, so that a model that is always content is believed less and less.
 */
export class Sufficiency {
  #model = new OnlineLogistic(FIRST);
  #rated = new OnlineLogistic(FIRST_RATED);
  #reliability = new Reliability();

  /** Returns how far predictions come true. */
  get reliability(): Reliability {
    return this.#reliability;
  }

  /** Returns how many outcomes were learned, and how many of them with a rating. */
  get outcomes(): { readonly all: number; readonly rated: number } {
    return { all: this.#model.outcomes, rated: this.#rated.outcomes };
  }

  /** Returns w of the first regression, by `SUFFICIENCY_FEATURES`. */
  get weights(): Float64Array {
    return this.#model.weights;
  }

  /** Returns the probability that the slate suffices, 0…1. @throws RangeError */
  probability({ features, rating }: SufficiencyExample): number {
    if (rating === undefined) return this.#model.probability(features);
    return this.#rated.probability(ratedFeatures(this.#model.logit(features), rating));
  }

  /** Learns how a decision ended. @param outcome 1: its slate sufficed, 0: it did not. @throws RangeError; nothing is learned then */
  learn({ features, rating, predicted }: SufficiencyExample, outcome: number): void {
    // Before the first regression learns, which changes its log-odds.
    const rated = rating === undefined ? null : ratedFeatures(this.#model.logit(features), rating);
    this.#model.learn(features, outcome);
    if (rated !== null) this.#rated.learn(rated, outcome);
    if (predicted !== undefined) this.#reliability.add(predicted, outcome);
  }

  /** Corrects the outcome of a decision that was learned, by `delta`. @throws RangeError */
  correct({ features, rating, predicted }: SufficiencyExample, delta: number): void {
    const rated = rating === undefined ? null : ratedFeatures(this.#model.logit(features), rating);
    this.#model.correct(features, delta);
    if (rated !== null) this.#rated.correct(rated, delta);
    if (predicted !== undefined) this.#reliability.correct(predicted, delta);
  }

  /** Forgets everything: the numbers from which it was predicted mean something else from now on. */
  reset(): void {
    this.#model = new OnlineLogistic(FIRST);
    this.#rated = new OnlineLogistic(FIRST_RATED);
    this.#reliability = new Reliability();
  }

  save(): LearnerState['arrays'] {
    return {
      ...named('model', this.#model.save()),
      ...named('rated', this.#rated.save()),
      ...named('reliability', this.#reliability.save()),
    };
  }

  /** Rebuilds it from what `save` returned. @throws Error when an array is missing or of another length */
  static load(arrays: LearnerState['arrays']): Sufficiency {
    const sufficiency = new Sufficiency();
    sufficiency.#model = OnlineLogistic.load(FIRST, partOf('model', arrays));
    sufficiency.#rated = OnlineLogistic.load(FIRST_RATED, partOf('rated', arrays));
    sufficiency.#reliability = Reliability.load(partOf('reliability', arrays));
    return sufficiency;
  }
}

function ratedFeatures(logit: number, rating: number): number[] {
  if (!(rating >= 0 && rating <= 1)) throw new RangeError(`A rating is 0 to 1, not ${rating}.`);
  return [logit, 1, rating - 0.5];
}

function named(part: string, arrays: LearnerState['arrays']): LearnerState['arrays'] {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [`${part}.${name}`, array]));
}

function partOf(part: string, arrays: LearnerState['arrays']): LearnerState['arrays'] {
  const own = Object.entries(arrays).filter(([name]) => name.startsWith(`${part}.`));
  return Object.fromEntries(own.map(([name, array]) => [name.slice(part.length + 1), array]));
}
