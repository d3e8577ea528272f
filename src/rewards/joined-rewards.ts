import type { Catalog } from '../catalog/catalog.ts';
import { type Decision, type DecisionHead, headOf } from '../decisions/decision.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { Settlements } from '../decisions/settlements.ts';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { endDecisions, joined } from './apply-reward.ts';
import type { RewardSink, TakenReports } from './reward-intake.ts';
import type { TaskSink } from './tasks.ts';

/** A decision that was read whole, so that it need not be read again to be joined with its rewards. */
export interface WholeDecision extends DecisionHead {
  readonly record: Decision;
}

/** Decisions of an ended task that are in memory at a time. */
const AT_ONCE = 100;

export function wholeDecision(record: Decision): WholeDecision {
  return { ...headOf(record), record };
}

/**
 * Takes rewards in where one process has ledger and decisions: joins them with their decisions and appends them to the ledger.
 * That one write makes them durable, gives them their order, and is what the replica folds; nothing has to be tried again later.
 */
export class JoinedRewards implements RewardSink<WholeDecision>, TaskSink {
  readonly #decisionLogs: Pick<DecisionLogs, 'find'>;
  readonly #settlements: Settlements;
  readonly #maxPending: number;

  /** @param maxPending entries of a catalog that may wait to be folded; with more of them rewards are refused */
  constructor(decisionLogs: Pick<DecisionLogs, 'find'>, settlements: Settlements, maxPending: number) {
    this.#decisionLogs = decisionLogs;
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

  /** What was reported before has its place in the ledger already. */
  async end({ name, ledger }: Catalog, decisionIds: readonly string[], at: number): Promise<void> {
    const decisions = await this.#decisionLogs.find(name);
    for (let from = 0; from < decisionIds.length; from += AT_ONCE) {
      const some = decisionIds.slice(from, from + AT_ONCE);
      await endDecisions({ catalog: name, decisionIds: some, at }, { ledger, decisions });
    }
  }
}
