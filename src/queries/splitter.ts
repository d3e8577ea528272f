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

/** What asks for more than this is not told apart: the last part has the rest. */
export const MAX_PARTS = 8;
