/** Takes a query apart into the things it asks for. Contract: tests/contracts/splitter.contract.ts. */
export interface Splitter {
  /** What cannot be split, or cannot be split now, stays whole. Rejects only with the reason of `signal`. */
  split(query: string, signal?: AbortSignal): Promise<Split>;
}

export interface Split {
  /** One sub-query per thing asked for, in their order: 1 to `MAX_PARTS`, and exactly the query if it is one. */
  readonly parts: readonly string[];
  readonly by: SplitterName;
  /** Why another splitter had to stand in; null: none had to. */
  readonly fallback: string | null;
}

export type SplitterName = 'clauses' | 'llm';

/** Parts that a query may have; the last one has the rest of a longer query. */
export const MAX_PARTS = 8;
