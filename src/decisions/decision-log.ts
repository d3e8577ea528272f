import type { Decision, DecisionHead, Discovery } from './decision.ts';

/** `first`: this call marked the decision as shown; `again`: an earlier one did; `unknown`: there is no such decision. */
export type Activation = 'first' | 'again' | 'unknown';

/** `moved`: another discovery came first; read the decision again. `unknown`: there is no such decision. */
export type DiscoveryAppended = 'added' | 'moved' | 'unknown';

/** A task finds so many of its decisions; with more of them the oldest stand alone. */
export const TASK_DECISIONS = 1000;

/**
 * Keeps the decisions of one catalog until they expire. Contract: tests/contracts/decision-log.contract.ts.
 */
export interface DecisionLog {
  /**
   * Appends a decision, which is durable when it resolves. Of several decisions with one id the first one is kept; returns false
   * when this is another one.
   * @throws StoreUnavailableError when the store is full or away.
   */
  append(decision: Decision): Promise<boolean>;
  /** Returns a decision; null when it is unknown or expired. @throws LostNamesError; StoreUnavailableError */
  get(id: string): Promise<Decision | null>;
  /**
   * Calls `use` with each of these decisions in order, null for one that is unknown or expired, and returns what it returned. No
   * decision is kept any longer than its call, which takes less time and memory than a hundred at once. @throws as `get`
   */
  useAll<Used>(
    ids: readonly string[],
    use: (decision: Decision | null, index: number) => Used,
  ): Promise<Used[]>;
  /**
   * Returns the part of a decision that taking rewards needs, which is much quicker. When it resolves, the decision is written,
   * so that every worker finds it. @throws StoreUnavailableError
   */
  head(id: string): Promise<DecisionHead | null>;
  /** Marks a decision as shown. Later calls keep the first time. */
  activate(id: string, at: number): Promise<Activation>;
  /**
   * Appends a discovery to a decision, durable when it resolves: from then on its tools are the last ones of the slate, also in
   * the head. @param after how many discoveries the decision had when this one was made; of several made after the same the first one is added
   * @throws StoreUnavailableError
   */
  discover(id: string, discovery: Discovery, after: number): Promise<DiscoveryAppended>;
  /**
   * Returns the heads of the decisions of a task that were shown, in the order in which they were or more was discovered in them,
   * newest first: the newest `limit` of them, as long as they have not expired. Like `head`, it makes sure that they are written.
   * @param key of a task, of a task id alone, or of a thread @param limit 1…`TASK_DECISIONS`, which it is if it is absent
   * @throws LostNamesError; StoreUnavailableError
   */
  ofTask(key: string, limit?: number): Promise<DecisionHead[]>;
  /** Returns how many decisions were made in this hour or later. @param hour beginning of an hour of UTC, ms since the epoch */
  countSince(hour: number): Promise<number>;
  /** Yields the unexpired decisions, oldest first. Those without their names are reported, and left out. */
  read(): AsyncIterable<Decision>;
  /**
   * Yields the unexpired decisions, newest first, each with the cursor from which the older ones come. Those of one moment may be
   * in any order. Null: the cursor is none of this log's.
   */
  newestFirst(cursor?: string): AsyncIterable<LoggedDecision> | null;
  close(): Promise<void>;
}

export interface LoggedDecision {
  readonly decision: Decision;
  readonly cursor: string;
}

/** The decision logs of one deployment, one per catalog. */
export interface DecisionLogs {
  /** Whether other processes write to them too: then a decision that is not found may be written a moment later. */
  readonly isShared: boolean;
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
