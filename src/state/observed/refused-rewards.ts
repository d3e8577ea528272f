import type { RewardOutcome } from '../outcome.ts';

/** More are not remembered at a time; the oldest go first. */
const MOST_REMEMBERED = 10_000;

/** What was decided about rewards that have no record of their decision to be kept in. */
export class RefusedRewards {
  readonly #outcomes = new Map<string, RewardOutcome>();

  get(rewardId: string): RewardOutcome | undefined {
    return this.#outcomes.get(rewardId);
  }

  add(outcome: RewardOutcome): void {
    this.#outcomes.set(outcome.rewardId, outcome);
    if (this.#outcomes.size <= MOST_REMEMBERED) return;
    const [oldest] = this.#outcomes.keys();
    this.#outcomes.delete(oldest);
  }

  save(): RewardOutcome[] {
    return [...this.#outcomes.values()];
  }

  restore(outcomes: readonly RewardOutcome[]): void {
    for (const outcome of outcomes) this.#outcomes.set(outcome.rewardId, outcome);
  }
}
