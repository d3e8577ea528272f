import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { rewardDeadline } from '../decisions/decision.ts';
import type { DueDecision } from '../decisions/decision-index.ts';
import type { DecisionLog, DecisionLogs } from '../decisions/decision-log.ts';
import type { SettledDecision, Settlements } from '../decisions/settlements.ts';
import { isStoreAway, StoreUnavailableError } from '../errors/store-errors.ts';
import type { Entry } from '../ledger/entry.ts';
import { teachesByDefault } from '../state/fold-observation.ts';
import { settlementOf } from './apply-reward.ts';
import { DueList } from './due-list.ts';

export interface DueSettlementsParts {
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly decisionLogs: Pick<DecisionLogs, 'find'>;
  /** As `Stores.takeAwaitingDefault`. */
  takeAwaitingDefault(catalog: string): Promise<readonly DueDecision[]>;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
  /** Decisions that may wait at a time; default a million. */
  readonly mostWaiting?: number;
}

/** Each takes some two hundred bytes. */
const MOST_WAITING = 1_000_000;
const BATCH = 100;
const RETRY_MS = 1_000;
/** A failure is reported when it begins, and once more after so many attempts. */
const ATTEMPTS_IN_A_MINUTE = 60;
const LONGEST_TIMER_MS = 24 * 60 * 60 * 1000;

/**
 * Closes decisions where one process has ledger and decisions: lists in memory of what is due when. They are written nowhere, since
 * they follow from what is: `restore` makes them anew from the decision log, which knows the decisions with a default reward, and
 * from the state, which knows those that were left open by their reports. A decision passes through these states:
 *
 * - *waiting*: its deadline has not come, or its catalog could not be written when it was to be settled; then that is tried every
 *   second, and reported. Other catalogs are settled meanwhile.
 * - *settled*: an entry of the ledger says so, or a report had closed it before. If it is settled twice, after a crash, the fold
 *   ignores the second time.
 * - *forgotten*: its catalog was deleted, or the decision has expired or cannot be read, which is reported.
 */
export class DueSettlements implements Settlements {
  readonly #parts: DueSettlementsParts;
  readonly #catalogs = new Map<string, CatalogSettlements>();

  constructor(parts: DueSettlementsParts) {
    this.#parts = parts;
  }

  assertRoom(): void {
    const { mostWaiting = MOST_WAITING } = this.#parts;
    let waiting = 0;
    for (const { size } of this.#catalogs.values()) waiting += size;
    if (waiting < mostWaiting) return;
    throw new StoreUnavailableError(`${waiting} decisions wait for their deadline, and more cannot be kept.`);
  }

  async settle(decision: SettledDecision): Promise<void> {
    this.#of(decision.catalog).add({ id: decision.id, deadline: rewardDeadline(decision) });
  }

  /** Call it when reports of a decision were folded: it waits no more if they have closed it. */
  folded(catalog: string, decisionId: string): void {
    this.#catalogs.get(catalog)?.folded(decisionId);
  }

  /** Adds the decisions of a catalog that were not settled before this process was started. Call it before there are new ones. */
  async restore({ name, state }: Catalog): Promise<void> {
    const settlements = this.#of(name);
    for (const due of await this.#parts.takeAwaitingDefault(name)) {
      if (mayWait(state, due)) settlements.add(due);
    }
    for (const due of state.decisions.unclosed()) settlements.add(due);
  }

  /** Settles no more. What waits is found again at the next start. */
  async close(): Promise<void> {
    await Promise.all([...this.#catalogs.values()].map((catalog) => catalog.close()));
  }

  #of(name: string): CatalogSettlements {
    const known = this.#catalogs.get(name);
    if (known !== undefined) return known;
    const settlements = new CatalogSettlements(name, this.#parts);
    this.#catalogs.set(name, settlements);
    return settlements;
  }
}

/** The decisions of one catalog that wait for their deadline, and the timer for the next one. */
class CatalogSettlements {
  readonly #name: string;
  readonly #parts: DueSettlementsParts;
  readonly #due = new DueList();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #settling: Promise<void> | null = null;
  /** The last attempt was in vain: the next one is made after a while. */
  #pauses = false;
  /** Attempts that failed, one after the other. */
  #failures = 0;
  #closed = false;

  constructor(name: string, parts: DueSettlementsParts) {
    this.#name = name;
    this.#parts = parts;
  }

  get size(): number {
    return this.#due.size;
  }

  add(due: DueDecision): void {
    this.#due.add(due);
    this.#setTimer();
  }

  folded(id: string): void {
    if (!this.#due.has(id)) return;
    if (this.#parts.catalogs.find(this.#name)?.state.decisions.get(id)?.closed) this.#due.remove(id);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#settling;
  }

  #setTimer(): void {
    const next = this.#due.next;
    if (this.#closed || this.#settling !== null || next >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = next;
    const pause = this.#pauses ? RETRY_MS : 0;
    const wait = Math.min(LONGEST_TIMER_MS, Math.max(pause, next - this.#parts.now()));
    this.#timer = setTimeout(() => this.#wake(), wait).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#settling = this.#settleDue().then(() => {
      this.#settling = null;
      this.#setTimer();
    });
  }

  async #settleDue(): Promise<void> {
    while (!this.#closed) {
      const batch = this.#due.take(this.#parts.now(), BATCH);
      if (batch.length === 0) return;
      try {
        this.#pauses = !(await this.#settle(batch));
        this.#failures = 0;
      } catch (error) {
        this.#pauses = true;
        this.#failures++;
        this.#report(error);
      }
      if (!this.#pauses) continue;
      for (const one of batch) this.#due.add(one);
      return;
    }
  }

  #report(error: unknown): void {
    const decisions = `decisions of "${this.#name}" whose deadline has passed`;
    if (this.#failures === 1) this.#parts.onError(`${decisions} cannot be settled, and wait`, error);
    if (this.#failures === ATTEMPTS_IN_A_MINUTE)
      this.#parts.onError(`${decisions} have not been settled for a minute`, error);
  }

  /** Returns false if the catalog is still being opened. One that was deleted has nothing to settle. */
  async #settle(batch: readonly DueDecision[]): Promise<boolean> {
    const log = await this.#parts.decisionLogs.find(this.#name);
    if (log === null) return true;
    const catalog = this.#parts.catalogs.find(this.#name);
    if (catalog === undefined) return false;
    // What was reported before the deadline has to be known here, for `settlement` to judge by it.
    await catalog.replica.caughtUp();
    const entries: Entry[] = [];
    for (const { id } of batch) {
      const entry = await this.#settlement(id, catalog, log);
      if (entry !== null) entries.push(entry);
    }
    if (entries.length > 0 && !catalog.closed.aborted) await catalog.ledger.append(entries);
    return true;
  }

  /** Returns the entry that closes a decision; null where none would, or not yet. */
  async #settlement(id: string, { state }: Catalog, log: DecisionLog): Promise<Entry | null> {
    const record = state.decisions.get(id);
    if (record?.closed) return null;
    const decision = await log.get(id).catch((error: Error) => {
      if (isStoreAway(error)) throw error;
      this.#parts.onError(`decision "${id}" cannot be read, and is not settled`, error);
      return null;
    });
    // Without reports on tools and without a default reward there is nothing to learn.
    if (decision === null || (!record?.tools.size && decision.defaultReward === undefined)) return null;
    const [now, deadline] = [this.#parts.now(), rewardDeadline(decision)];
    if (deadline <= now) {
      const entry = settlementOf(decision, now);
      // One that the fold ignores would be written again at every start, with the query of a user who was forgotten.
      return record === undefined && !teachesByDefault(state, entry) ? null : entry;
    }
    // Its catalog was deleted and made again, and the same Idempotency-Key has come back.
    this.#due.add({ id, deadline });
    return null;
  }
}

/** Returns whether a decision with a default reward is open still. Late and rejected reports do not close it. */
function mayWait({ decisions }: Catalog['state'], due: DueDecision): boolean {
  return !decisions.mayBeDropped(due) && decisions.get(due.id)?.closed !== true;
}
