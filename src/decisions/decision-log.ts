import type { Decision, DecisionHead } from './decision.ts';

/** `first`: this call marked the decision as shown; `again`: an earlier one did; `unknown`: there is no such decision. */
export type Activation = 'first' | 'again' | 'unknown';

/**
 * Decisions of one catalog, kept until they expire. Contract: tests/contracts/decision-log.contract.ts.
 */
export interface DecisionLog {
  /** Whether other processes write to it as well: a decision that is not found may be written in a moment. */
  readonly isShared: boolean;
  /**
   * Durable when it resolves. Of several with one id the first one stays: false when this is another.
   * @throws StoreUnavailableError when the store is full or away.
   */
  append(decision: Decision): Promise<boolean>;
  /** Null when unknown or expired. */
  get(id: string): Promise<Decision | null>;
  /**
   * The same decision as far as taking rewards needs it, which is much quicker. By then it is written, so that
   * every worker finds it. @throws StoreUnavailableError
   */
  head(id: string): Promise<DecisionHead | null>;
  /** Marks a decision as shown. Later calls keep the first time. */
  activate(id: string, at: number): Promise<Activation>;
  /** How many decisions were made at this time or later; the beginning of an hour of UTC, ms since the epoch. */
  countSince(hour: number): Promise<number>;
  /** Unexpired decisions, oldest first. */
  read(): AsyncIterable<Decision>;
  close(): Promise<void>;
}

/** The decision logs of one deployment, one per catalog. */
export interface DecisionLogs {
  /** Returns the log of a catalog, the same instance each time; an empty one is created when there is none. */
  open(catalog: string): Promise<DecisionLog>;
  /** Returns the log of a catalog in order to read it, and creates nothing. Null when nothing was ever written to it. */
  find(catalog: string): Promise<DecisionLog | null>;
  /** Closes the log of a catalog that another process has deleted: what waits to be written is written nowhere. */
  release(catalog: string): Promise<void>;
  /** Deletes the log of a catalog for good. */
  remove(catalog: string): Promise<void>;
  close(): Promise<void>;
}
