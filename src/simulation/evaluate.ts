import type { PreparedQuery, SimulatedCatalog } from './simulated-catalog.ts';

/** A query and the names of the tools that fit it. */
export interface LabelledQuery extends PreparedQuery {
  readonly relevant: readonly string[];
}

/** Slate sizes at which a frozen evaluation looks. */
export const EVALUATED_SIZES = [3, 5, 10] as const;

export interface Evaluation {
  /** Steps that were learned from. */
  readonly after: number;
  readonly queries: number;
  /** Mean share of the fitting tools in the first K, by K. */
  readonly recall: Readonly<Record<number, number>>;
  /** Share of queries whose fitting tools are all in the first K, by K. */
  readonly complete: Readonly<Record<number, number>>;
}

/**
 * How good the state is on queries that it does not learn from: greedy choice, nothing changes. Queries without
 * a fitting live tool are left out.
 */
export function evaluate(
  catalog: SimulatedCatalog,
  queries: readonly LabelledQuery[],
  fittingOf: (query: LabelledQuery) => ReadonlySet<string>,
  after: number,
): Evaluation {
  const largest = Math.max(...EVALUATED_SIZES);
  const recall: Record<number, number> = {};
  const complete: Record<number, number> = {};
  let count = 0;
  for (const [at, query] of queries.entries()) {
    const fitting = fittingOf(query);
    if (fitting.size === 0) continue;
    count++;
    const { slate, candidates } = catalog.decide(`simulation.evaluation${at}`, query, largest, false);
    for (const size of EVALUATED_SIZES) {
      const found = slate.slice(0, size).filter((index) => fitting.has(candidates[index])).length;
      recall[size] = (recall[size] ?? 0) + found / fitting.size;
      complete[size] = (complete[size] ?? 0) + (found === fitting.size ? 1 : 0);
    }
  }
  for (const size of EVALUATED_SIZES) {
    recall[size] = (recall[size] ?? 0) / Math.max(1, count);
    complete[size] = (complete[size] ?? 0) / Math.max(1, count);
  }
  return { after, queries: count, recall, complete };
}
