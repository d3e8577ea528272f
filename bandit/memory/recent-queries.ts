import type { RecalledCase } from '../policy.ts';
import type { SparseVector } from '../sparse-vector.ts';

/** Queries that are kept: with 256 dimensions 1.2 MB. */
const QUERIES = 1024;
/** If more cases than this have come since a query was asked, a scan of all cases is as fast. */
const NEWER_CASES = 128;

/** A query as cases are compared with it. */
interface ComparedQuery {
  readonly embedding: Float32Array | null;
  readonly terms: SparseVector;
}

interface RecentQuery extends ComparedQuery {
  /** Its nearest case then, and the number of that case; null: nothing resembled it. */
  readonly nearest: RecalledCase | null;
  readonly number: number;
  /** How many cases had been added by then. */
  readonly added: number;
}

/** A case that was added after a query was asked. */
interface NewerCase {
  readonly place: number;
  readonly terms: SparseVector;
}

/**
 * Keeps the nearest case of each of the latest queries. A decision asks for the nearest cases of its query, and when it closes,
 * the nearest one is wanted again: if that is still there, only cases that are newer can be nearer.
 *
 * It never changes what is found, only how fast, so nothing of it is saved.
 */
export class RecentQueries {
  private readonly queries = new Map<number, RecentQuery>();
  /** The newest cases, by number mod NEWER_CASES. */
  private readonly newest: NewerCase[] = [];
  /** By place, the number of its case, counted from 1; 0: there is none. */
  private readonly numbers: number[] = [];
  private added = 0;

  /** A case was added at this place. */
  put(place: number, terms: SparseVector): void {
    this.numbers[place] = ++this.added;
    this.newest[this.added % NEWER_CASES] = { place, terms: copyOf(terms) };
  }

  remove(place: number): void {
    this.numbers[place] = 0;
  }

  /** The nearest of all cases is this one. */
  keep({ embedding, terms }: ComparedQuery, nearest: RecalledCase | undefined): void {
    const key = keyOf(embedding, terms);
    this.queries.delete(key);
    this.queries.set(key, {
      embedding: embedding === null ? null : ownOf(embedding),
      terms: copyOf(terms),
      nearest: nearest ?? null,
      number: nearest === undefined ? 0 : this.numbers[nearest.caseId],
      added: this.added,
    });
    if (this.queries.size <= QUERIES) return;
    for (const oldest of this.queries.keys()) {
      this.queries.delete(oldest);
      return;
    }
  }

  /**
   * Returns the nearest of the cases that were there when the query was last asked, and those that came since; null when that
   * is not known any more.
   */
  find(
    query: ComparedQuery,
  ): { readonly nearest: RecalledCase | null; readonly newer: readonly NewerCase[] } | null {
    const known = this.queries.get(keyOf(query.embedding, query.terms));
    if (known === undefined || this.added - known.added > NEWER_CASES || !isSame(known, query)) return null;
    const { nearest } = known;
    if (nearest !== null && this.numbers[nearest.caseId] !== known.number) return null;
    const newer: NewerCase[] = [];
    for (let number = known.added + 1; number <= this.added; number++) {
      const candidate = this.newest[number % NEWER_CASES];
      if (this.numbers[candidate.place] === number) newer.push(candidate);
    }
    return { nearest, newer };
  }

  get bytes(): number {
    let bytes = 8 * this.numbers.length;
    for (const { embedding } of this.queries.values()) bytes += 200 + (embedding?.byteLength ?? 0);
    return bytes;
  }
}

function copyOf({ terms, weights }: SparseVector): SparseVector {
  return { terms: ownOf(terms), weights: ownOf(weights) };
}

/** Returns a copy if the array is a part of a larger buffer, which would be kept with it. Nobody writes to a query. */
function ownOf<Values extends Float32Array | Uint32Array>(values: Values): Values {
  return values.byteLength === values.buffer.byteLength ? values : (values.slice() as Values);
}

/** Two queries with the same key need not be the same: the later one is kept. */
function keyOf(embedding: Float32Array | null, { terms }: SparseVector): number {
  let key = terms.length;
  for (let i = 0; i < terms.length; i++) key = (Math.imul(key, 31) + terms[i]) | 0;
  return embedding === null ? key : key + embedding[0];
}

function isSame(a: ComparedQuery, b: ComparedQuery): boolean {
  if (a.embedding === null || b.embedding === null) {
    if (a.embedding !== b.embedding) return false;
  } else if (!areEqual(a.embedding, b.embedding)) return false;
  return areEqual(a.terms.terms, b.terms.terms) && areEqual(a.terms.weights, b.terms.weights);
}

function areEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
