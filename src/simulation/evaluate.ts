import type { PreparedQuery, SimulatedCatalog } from './simulated-catalog.ts';

/** A query and the names of the tools that fit it. */
export interface LabelledQuery extends PreparedQuery {
  readonly relevant: readonly string[];
}

/** Slate sizes that an evaluation reports. */
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
 * Returns how well the state ranks queries that it does not learn from. It ranks greedily, and nothing changes. Queries
 * without a fitting live tool are left out.
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

/** Upper ends of the classes by own impressions; the last class is open. */
const CLASSES = [1, 20, 100] as const;

export interface ExposureShare {
  /** Upper end of the class in impressions; null: the last class. */
  readonly impressions: number | null;
  /** Times a tool of this class fitted a query. */
  readonly fitted: number;
  /** Share of those times in which it was in the slate; 0…1. */
  readonly share: number;
}

/** Counts how often certain tools are shown when they fit, by how often they were shown before. */
export class Exposures {
  readonly #impressions: Map<string, number>;
  readonly #fitted = new Array<number>(CLASSES.length + 1).fill(0);
  readonly #shown = new Array<number>(CLASSES.length + 1).fill(0);

  constructor(followed: ReadonlySet<string>) {
    this.#impressions = new Map([...followed].map((name) => [name, 0]));
  }

  /** Counts a slate that was shown for a query that these tools fit. */
  count(shown: readonly string[], fitting: ReadonlySet<string>): void {
    if (this.#impressions.size === 0) return;
    for (const name of shown) {
      const impressions = this.#impressions.get(name);
      if (impressions !== undefined) this.#impressions.set(name, impressions + 1);
    }
    for (const name of fitting) {
      const impressions = this.#impressions.get(name);
      if (impressions === undefined) continue;
      const found = CLASSES.findIndex((end) => impressions <= end);
      const at = found < 0 ? CLASSES.length : found;
      this.#fitted[at]++;
      if (shown.includes(name)) this.#shown[at]++;
    }
  }

  shares(): ExposureShare[] {
    if (this.#impressions.size === 0) return [];
    return [...CLASSES, null].map((impressions, at) => ({
      impressions,
      fitted: this.#fitted[at],
      share: this.#fitted[at] === 0 ? 0 : this.#shown[at] / this.#fitted[at],
    }));
  }
}
