import { savedArray } from '../learner-codec.ts';
import type { LearnerState } from '../policy.ts';

const BINS = 10;
/** Beyond this many the oldest outcomes count less and less. */
const MOST_OUTCOMES = 5000;

/** A bin of the reliability diagram: what became of the decisions whose prediction lay in its range. */
export interface ReliabilityBin {
  readonly from: number;
  readonly to: number;
  /** How many outcomes; old ones count less. */
  readonly count: number;
  /** Means of what was predicted and what came, 0…1. */
  readonly predicted: number;
  readonly observed: number;
}

/**
 * Reliability of predicted probabilities, how far they come true: counts and sums in ten equal bins (reliability diagram), and the expected calibration error
 * (Naeini, Cooper & Hauskrecht 2015). A prediction is counted as it was served, before its outcome was learned.
 */
export class Reliability {
  #counts = new Float64Array(BINS);
  #predicted = new Float64Array(BINS);
  #observed = new Float64Array(BINS);

  /** Number of outcomes, at most some thousands: older ones count less. */
  get total(): number {
    return sum(this.#counts);
  }

  /** Expected calibration error, 0…1; 0 before the first outcome. */
  get error(): number {
    let gaps = 0;
    for (let i = 0; i < BINS; i++) gaps += Math.abs(this.#predicted[i] - this.#observed[i]);
    return gaps / Math.max(1, this.total);
  }

  /** Counts what became of a prediction; both 0…1. @throws RangeError */
  add(predicted: number, observed: number): void {
    if (!(predicted >= 0 && predicted <= 1 && observed >= 0 && observed <= 1)) {
      throw new RangeError(`Predictions and outcomes are 0 to 1, not ${predicted} and ${observed}.`);
    }
    const bin = binOf(predicted);
    this.#counts[bin]++;
    this.#predicted[bin] += predicted;
    this.#observed[bin] += observed;
    const { total } = this;
    if (total <= MOST_OUTCOMES) return;
    const kept = MOST_OUTCOMES / total;
    for (const sums of [this.#counts, this.#predicted, this.#observed]) {
      for (let i = 0; i < BINS; i++) sums[i] *= kept;
    }
  }

  /** The outcome of a prediction that was counted changed by `delta`. */
  correct(predicted: number, delta: number): void {
    const bin = binOf(predicted);
    this.#observed[bin] = Math.min(this.#counts[bin], Math.max(0, this.#observed[bin] + delta));
  }

  bins(): ReliabilityBin[] {
    return Array.from(this.#counts, (count, i) => ({
      from: i / BINS,
      to: (i + 1) / BINS,
      count,
      predicted: count === 0 ? 0 : this.#predicted[i] / count,
      observed: count === 0 ? 0 : this.#observed[i] / count,
    }));
  }

  save(): LearnerState['arrays'] {
    const [counts, predicted, observed] = [this.#counts, this.#predicted, this.#observed];
    return { counts: counts.slice(), predicted: predicted.slice(), observed: observed.slice() };
  }

  /** @throws Error when an array is missing or of another length */
  static load(arrays: LearnerState['arrays']): Reliability {
    const reliability = new Reliability();
    reliability.#counts = savedArray(arrays, 'counts', Float64Array, BINS).slice();
    reliability.#predicted = savedArray(arrays, 'predicted', Float64Array, BINS).slice();
    reliability.#observed = savedArray(arrays, 'observed', Float64Array, BINS).slice();
    return reliability;
  }
}

function binOf(predicted: number): number {
  return Math.min(BINS - 1, Math.floor(predicted * BINS));
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
