/** Splits a query into the requests that it holds. Contract: tests/contracts/splitter.contract.ts. */
export interface Splitter {
  /** Returns one part if the query cannot be split. Rejects only with the reason of `signal`. */
  split(query: string, signal?: AbortSignal): Promise<Split>;
}

export interface Split {
  /** One sub-query per request, in their order: 1 to `MAX_PARTS`, and exactly the query if it is one. */
  readonly parts: readonly string[];
  readonly by: SplitterName;
  /** Why another splitter was used instead; null: none was. */
  readonly fallback: string | null;
}

export type SplitterName = 'clauses' | 'llm';

/** Largest number of parts; the last one has the rest of a longer query. */
export const MAX_PARTS = 8;
