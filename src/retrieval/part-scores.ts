import { float64Columns } from '../../bandit/columns.ts';
import type { FusedScores, RetrievalScores, ToolScores } from './retrieval-scores.ts';

/** Largest weight of a part of the query against the whole query. */
const PART_WEIGHT = 0.7;
/** A part with fewer terms has a proportionally smaller weight. */
const FULL_WEIGHT_TERMS = 6;

/** What scores tools beside the whole query; its h and c are 0…1. */
interface Part {
  /** 0…1. */
  readonly weight: number;
  lexical(slot: number): number;
  dense(slot: number): number;
}

/** Keeps a copy of the retrieval scores of one part of a query, because an index keeps the hits of its last search only. */
export class PartScores implements Part {
  /** 0…PART_WEIGHT. */
  readonly weight: number;
  readonly #lexical: Float32Array;
  readonly #dense: Float32Array;

  /** @param terms how many the part has. @param capacity slots below this can be kept. */
  constructor(terms: number, capacity: number) {
    this.weight = PART_WEIGHT * Math.min(1, terms / FULL_WEIGHT_TERMS);
    this.#lexical = new Float32Array(capacity);
    this.#dense = new Float32Array(capacity);
  }

  /** Copies the scores of these slots; those of all others are 0. */
  keep(scores: FusedScores, slots: Int32Array): void {
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      this.#lexical[slot] = scores.lexical(slot);
      this.#dense[slot] = scores.dense(slot);
    }
  }

  /** Returns h within this part. */
  lexical(slot: number): number {
    return this.#lexical[slot];
  }

  /** Returns c within this part. */
  dense(slot: number): number {
    return this.#dense[slot];
  }
}

/** Scores tools by how they were used rather than by their texts: h = c = g is the number that is given for them, and 0 of all others. */
export class UsedScores implements Part {
  readonly weight = 1;
  readonly #given: Float64Array;

  /** @param given 0…1, by slot. @param capacity all slots lie below this */
  constructor(given: ReadonlyMap<number, number>, capacity: number) {
    this.#given = new Float64Array(capacity);
    for (const [slot, score] of given) this.#given[slot] = score;
  }

  lexical(slot: number): number {
    return this.#given[slot];
  }

  dense(slot: number): number {
    return this.lexical(slot);
  }
}

/**
 * Computes the retrieval score of a tool for a query of several parts. Every part is scored like a query of its own and
 * normalised to 0…1 by itself (as in ToolScope, section 3.3, eq. 5), so that the best tools of each part rank high. For a
 * part p with weight w, h = (1 − w)·h(whole) + w·h(p), likewise c, and g = ½h + ½c. A tool gets the h, c and g of the part
 * with the largest g, or those of the whole query if they are larger.
 *
 * So g is ½h + ½c here too, hence a learner without rewards ranks in retrieval order, and no tool scores less than it
 * would without parts. docs/decisions/2026-11-21-sub-queries.md has the alternatives.
 */
export class DecomposedScores implements RetrievalScores {
  readonly #whole: FusedScores;
  readonly #parts: readonly Part[];

  constructor(whole: FusedScores, parts: readonly Part[]) {
    this.#whole = whole;
    this.#parts = parts;
  }

  /** The similarity is e(q)·φ of the whole query: learners do not use the parts. */
  of(slot: number): ToolScores {
    const whole = this.#whole.of(slot);
    let best = whole;
    for (const part of this.#parts) {
      const lexical = whole.lexical + part.weight * (part.lexical(slot) - whole.lexical);
      const dense = whole.dense + part.weight * (part.dense(slot) - whole.dense);
      const base = this.#whole.fuse(lexical, dense);
      if (base <= best.base) continue;
      best = { lexical, dense, base, similarity: whole.similarity, isUsed: part instanceof UsedScores };
    }
    return best;
  }

  /** Returns g of all these slots, followed by g for each part. */
  basesOf(slots: Int32Array): Float64Array[] {
    const whole = this.#whole;
    const [most, ...says] = float64Columns(slots.length, 1 + this.#parts.length);
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      const lexical = whole.lexical(slot);
      const dense = whole.dense(slot);
      most[i] = whole.fuse(lexical, dense);
      for (let p = 0; p < says.length; p++) {
        const part = this.#parts[p];
        const base = whole.fuse(
          lexical + part.weight * (part.lexical(slot) - lexical),
          dense + part.weight * (part.dense(slot) - dense),
        );
        says[p][i] = base;
        if (base > most[i]) most[i] = base;
      }
    }
    return [most, ...says];
  }
}
