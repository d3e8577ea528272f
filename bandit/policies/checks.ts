import type { Example } from '../policy.ts';

/** Far above any weight that is meant, far below what drowns λ, and everything learned before, in rounding. */
const MOST_WEIGHT = 1e6;

/** @throws RangeError unless the reward is 0…1, the weight above 0 and at most a million, and the example's own numbers are finite. */
export function checkExample(example: Example, extras: number, reward: number, weight: number): void {
  if (!(reward >= 0 && reward <= 1)) throw new RangeError(`A reward is learned as 0 to 1, not ${reward}.`);
  checkWeight(weight);
  if (!Number.isFinite(example.similarity)) {
    throw new RangeError(`The similarity of an example is finite, not ${example.similarity}.`);
  }
  if (example.extras.length !== extras) {
    throw new RangeError(`An example has ${extras} extra features here, not ${example.extras.length}.`);
  }
  for (const extra of example.extras) {
    if (!Number.isFinite(extra)) throw new RangeError(`An extra feature is finite, not ${extra}.`);
  }
}

/** @throws RangeError unless the weight is above 0 and at most a million. */
export function checkWeight(weight: number): void {
  if (!(weight > 0 && weight <= MOST_WEIGHT)) {
    throw new RangeError(`A weight is above 0 and at most ${MOST_WEIGHT}, not ${weight}.`);
  }
}
