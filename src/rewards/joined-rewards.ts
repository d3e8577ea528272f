import { type Decision, type DecisionHead, headOf } from '../decisions/decision.ts';
import type { Settlements } from '../decisions/settlements.ts';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { joined } from './apply-reward.ts';
import type { RewardSink, TakenReports } from './reward-intake.ts';

/** A decision that was read whole, so that it need not be read again to be joined with its rewards. */
export interface WholeDecision extends DecisionHead {
  readonly record: Decision;
}

export function wholeDecision(record: Decision): WholeDecision {
  return { ...headOf(record), record };
}

/**
 * Takes rewards in where one process has ledger and decisions: joins them with their decisions and appends them to the ledger.
 * That one write makes them durable, gives them their order, and is what the replica folds; nothing has to be tried again later.
 */
export class JoinedRewards implements RewardSink<WholeDecision> {
  readonly #settlements: Settlements;
  readonly #maxPending: number;

  /** @param maxPending entries of a catalog that may wait to be folded; with more of them rewards are refused */
  constructor(settlements: Settlements, maxPending: number) {
    this.#settlements = settlements;
    this.#maxPending = maxPending;
  }

  async send(taken: readonly TakenReports<WholeDecision>[]): Promise<void> {
    const { ledger, replica } = taken[0].catalog;
    const waiting = await replica.lag();
    if (waiting + taken.length > this.#maxPending) {
      throw new StoreUnavailableError(`Learning does not keep up: ${waiting} entries wait.`);
    }
    const open = taken.filter(({ reported }) => !reported.closes);
    if (open.length > 0) this.#settlements.assertRoom();
    await ledger.append(taken.map(({ reported, decision }) => joined(reported, decision.record)));
    for (const { decision } of open) await this.#settlements.settle(decision);
  }
}
