import { savedArray } from '../learner-codec.ts';
import type { LearnerState } from '../policy.ts';
import { checkWeight } from './checks.ts';

/**
 * Counts the calls of each tool and their successes: rate_a = (succ_a + 1)/(calls_a + 2). Only outcomes of calls count, not
 * impressions.
 */
export class CallCounts {
  private calls = new Float64Array(64);
  private successes = new Float64Array(64);
  /** Slots in use are below this. */
  private slots = 0;

  /** Returns the rate of a slot, 0…1; ½ before its first call. */
  rate(slot: number): number {
    return slot < this.slots ? (this.successes[slot] + 1) / (this.calls[slot] + 2) : 0.5;
  }

  /** Returns the rate of the calls of several slots together, 0…1. */
  rateOf(slots: readonly number[]): number {
    let [calls, successes] = [0, 0];
    for (const slot of slots) {
      if (slot >= this.slots) continue;
      calls += this.calls[slot];
      successes += this.successes[slot];
    }
    return (successes + 1) / (calls + 2);
  }

  /** Counts a call. @throws RangeError when the reward is not 0 to 1, or the weight is out of its range */
  count(slot: number, reward: number, weight: number): void {
    if (!(reward >= 0 && reward <= 1)) throw new RangeError(`A call is counted with 0 to 1, not ${reward}.`);
    checkWeight(weight);
    this.reserve(slot);
    this.calls[slot] += weight;
    this.successes[slot] += weight * reward;
  }

  /** Corrects the successes of a counted call by `delta`, weight included. @throws RangeError when that is not finite */
  recount(slot: number, delta: number): void {
    if (!Number.isFinite(delta)) throw new RangeError(`A count changes by a finite amount, not by ${delta}.`);
    this.reserve(slot);
    this.successes[slot] = Math.min(this.calls[slot], Math.max(0, this.successes[slot] + delta));
  }

  /** Keeps this share of the counts of a slot, 0…1. */
  scale(slot: number, factor: number): void {
    this.reserve(slot);
    this.calls[slot] *= factor;
    this.successes[slot] *= factor;
  }

  save(): LearnerState['arrays'] {
    return { calls: this.calls.slice(0, this.slots), successes: this.successes.slice(0, this.slots) };
  }

  static load(arrays: LearnerState['arrays']): CallCounts {
    const counts = new CallCounts();
    const calls = savedArray(arrays, 'calls', Float64Array);
    if (calls.length === 0) return counts;
    counts.reserve(calls.length - 1);
    counts.calls.set(calls);
    counts.successes.set(savedArray(arrays, 'successes', Float64Array, calls.length));
    return counts;
  }

  get bytes(): number {
    return this.calls.byteLength + this.successes.byteLength;
  }

  private reserve(slot: number): void {
    this.slots = Math.max(this.slots, slot + 1);
    if (this.slots <= this.calls.length) return;
    const calls = new Float64Array(2 * this.slots);
    calls.set(this.calls);
    this.calls = calls;
    const successes = new Float64Array(2 * this.slots);
    successes.set(this.successes);
    this.successes = successes;
  }
}
