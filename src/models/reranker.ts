/** Compares a query with each of a few documents more closely than retrieval can. */
export interface Reranker {
  /**
   * @param budgetMs how long the caller can wait.
   * @param signal aborts when the caller does not wait any more; then no further document is scored.
   * @returns one score per document, larger is better; scores for all documents or for none.
   */
  rerank(
    query: string,
    documents: readonly string[],
    budgetMs: number,
    signal?: AbortSignal,
  ): Promise<RerankAnswer>;
  close(): Promise<void>;
}

export type RerankAnswer =
  | { readonly scores: readonly number[] }
  /** Why there are no scores. */
  | { readonly missing: string };
