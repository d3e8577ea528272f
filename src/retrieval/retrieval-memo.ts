import { inTurns, type ProposalRequest } from './best-slots.ts';
import type { ToolScores } from './retrieval-scores.ts';

/** So many of the best of each list are kept, so that enough are left when some are excluded. */
export const LISTED = 80;
/** Scores of more tools than these are not kept: what is kept of one query has a bound that does not depend on the catalog. */
const MOST_SCORED = 160;
const COLUMNS = 4;

/** What retrieval says of one query, without exclusions, pins, or what was learned. */
export interface Retrieved {
  /** The best `LISTED` slots of the whole query, or of what it and each of its parts say, best first. */
  readonly lists: readonly Int32Array[];
  readonly bestBm25: number;
  readonly bestSimilarity: number;
}

/**
 * Keeps what an index says of one query for as long as the same texts are indexed, so that it is searched once. It never
 * changes what is found, only how fast.
 */
export class RetrievalMemo {
  #contents: object | null = null;
  #retrieved: Retrieved = { lists: [], bestBm25: 0, bestSimilarity: 0 };
  #slots = new Int32Array(0);
  #scores = new Float64Array(0);
  #size = 0;

  /** Returns what is kept; null: nothing, or that of other contents. */
  at(contents: object): Retrieved | null {
    return this.#contents === contents ? this.#retrieved : null;
  }

  /** Forgets what was kept, and keeps this. */
  begin(contents: object, retrieved: Retrieved): void {
    this.#contents = contents;
    this.#retrieved = retrieved;
    this.#size = 0;
  }

  /** Returns what would be proposed of the lists; null: not known, so many of those that are kept are excluded. */
  proposals({ limit, exclude }: ProposalRequest): Iterable<number> | null {
    const { lists } = this.#retrieved;
    if (exclude === undefined || exclude.size === 0) return inTurns(lists, limit);
    const allowed = lists.map((list) => list.filter((slot) => !exclude.has(slot)));
    const isKnown = allowed.every((list, at) => list.length >= limit || lists[at].length < LISTED);
    return isKnown ? inTurns(allowed, limit) : null;
  }

  /** Returns the scores of a slot; null: they are not kept. */
  of(slot: number): ToolScores | null {
    const at = this.#slots.indexOf(slot);
    if (at < 0 || at >= this.#size) return null;
    const scores = this.#scores;
    const from = at * COLUMNS;
    return {
      lexical: scores[from],
      dense: scores[from + 1],
      base: scores[from + 2],
      similarity: scores[from + 3],
    };
  }

  /** Keeps the scores of a slot that has none here, and returns them. */
  keep(slot: number, own: ToolScores): ToolScores {
    if (this.#size === MOST_SCORED) return own;
    if (this.#size === this.#slots.length) this.#grow();
    const from = this.#size * COLUMNS;
    this.#slots[this.#size++] = slot;
    this.#scores[from] = own.lexical;
    this.#scores[from + 1] = own.dense;
    this.#scores[from + 2] = own.base;
    this.#scores[from + 3] = own.similarity;
    return own;
  }

  #grow(): void {
    const room = Math.min(MOST_SCORED, Math.max(LISTED, 2 * this.#slots.length));
    const slots = new Int32Array(room);
    const scores = new Float64Array(room * COLUMNS);
    slots.set(this.#slots);
    scores.set(this.#scores);
    this.#slots = slots;
    this.#scores = scores;
  }
}

/** Returns the most bytes that the memo of a query with so many parts takes. */
export function memoBytes(parts: number): number {
  const lists = parts === 0 ? 1 : 2 + parts;
  return 4 * LISTED * lists + MOST_SCORED * (4 + 8 * COLUMNS);
}
