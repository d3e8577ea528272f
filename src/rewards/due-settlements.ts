import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { rewardDeadline } from '../decisions/decision.ts';
import type { DecisionLogs, DueDecision } from '../decisions/decision-log.ts';
import type { SettledDecision, Settlements } from '../decisions/settlements.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import type { Entry } from '../ledger/entry.ts';
import { type Due, DueHeap } from '../queue/job-order.ts';
import { settlementOf } from './apply-reward.ts';

interface DueSettlement extends Due {
  readonly catalog: string;
  readonly id: string;
}

export interface DueSettlementsParts {
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly decisionLogs: DecisionLogs;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
}

const BATCH = 100;
const RETRY_MS = 1_000;
const LONGEST_TIMER_MS = 24 * 60 * 60 * 1000;

/**
 * Closes decisions where one process has ledger and decisions: a list in memory of what is due when. It is written nowhere, since
 * it follows from what is: `restore` makes it anew from the decision log, which knows the decisions with a default reward, and
 * from the state, which knows those that were left open by their reports. A decision passes through these states:
 *
 * - *waiting*: its deadline has not come, or the store was away when it was to be settled; then that is tried every second.
 * - *settled*: an entry of the ledger says so, or a report had closed it before. If it is settled twice, after a crash, the fold
 *   ignores the second time.
 * - *forgotten*: its catalog was deleted, or the decision has expired or cannot be read, which is reported.
 */
export class DueSettlements implements Settlements {
  readonly #parts: DueSettlementsParts;
  readonly #due = new DueHeap<DueSettlement>();
  #order = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #settling: Promise<void> | null = null;
  #closed = false;

  constructor(parts: DueSettlementsParts) {
    this.#parts = parts;
  }

  async settle(decision: SettledDecision): Promise<void> {
    this.#add(decision.catalog, { id: decision.id, deadline: rewardDeadline(decision) });
    this.#setTimer();
  }

  /** Adds the decisions of a catalog that were not settled before this process was started. Call it before there are new ones. */
  async restore({ name, state }: Catalog): Promise<void> {
    const log = await this.#parts.decisionLogs.open(name);
    for (const due of log.awaitingDefault()) if (mayWait(state, due)) this.#add(name, due);
    for (const due of state.decisions.unclosed()) this.#add(name, due);
    this.#setTimer();
  }

  /** Settles no more. What waits is found again at the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#settling;
  }

  #add(catalog: string, { id, deadline }: DueDecision): void {
    this.#due.add({ runAt: deadline, order: this.#order++, catalog, id });
  }

  #setTimer(retryMs = 0): void {
    const next = this.#due.top?.runAt ?? Number.POSITIVE_INFINITY;
    if (this.#closed || this.#settling !== null || next >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = next;
    const wait = Math.min(LONGEST_TIMER_MS, Math.max(retryMs, next - this.#parts.now()));
    this.#timer = setTimeout(() => this.#wake(), wait).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#settling = this.#settleDue().then((retryMs) => {
      this.#settling = null;
      this.#setTimer(retryMs);
    });
  }

  /** Settles what is due. Returns how long to wait before the next attempt, ms. */
  async #settleDue(): Promise<number> {
    for (;;) {
      const batch = this.#takeDue();
      if (batch.length === 0 || this.#closed) return 0;
      for (const name of new Set(batch.map(({ catalog }) => catalog))) {
        const some = batch.filter(({ catalog }) => catalog === name);
        try {
          await this.#settleSome(name, new Set(some.map(({ id }) => id)));
        } catch (error) {
          for (const one of batch) this.#due.add(one);
          if (!isStoreAway(error)) this.#parts.onError(`decisions of "${name}" could not be settled`, error);
          return RETRY_MS;
        }
      }
    }
  }

  #takeDue(): DueSettlement[] {
    const now = this.#parts.now();
    const batch: DueSettlement[] = [];
    while (batch.length < BATCH && (this.#due.top?.runAt ?? Number.POSITIVE_INFINITY) <= now) {
      batch.push(this.#due.take()!);
    }
    return batch;
  }

  async #settleSome(name: string, ids: ReadonlySet<string>): Promise<void> {
    const catalog = this.#parts.catalogs.find(name);
    const log = await this.#parts.decisionLogs.find(name);
    if (catalog === undefined || log === null) return;
    const entries: Entry[] = [];
    for (const id of ids) {
      if (catalog.state.decisions.get(id)?.closed) continue;
      const decision = await log.get(id).catch((error: Error) => {
        if (isStoreAway(error)) throw error;
        this.#parts.onError(`decision "${id}" cannot be read, and is not settled`, error);
        return null;
      });
      if (decision !== null) entries.push(settlementOf(decision, this.#parts.now()));
    }
    if (entries.length > 0 && !catalog.closed.aborted) await catalog.ledger.append(entries);
  }
}

/** Returns whether nothing was learned of a decision yet. If something was, the state knows whether it is open. */
function mayWait({ decisions }: Catalog['state'], due: DueDecision): boolean {
  return !decisions.mayBeDropped(due) && !decisions.has(due.id);
}
