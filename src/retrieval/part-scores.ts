import type { FusedScores, RetrievalScores } from './retrieval-scores.ts';

/** Largest weight of a part of the query against the whole query. */
const PART_WEIGHT = 0.7;
/** A part with fewer terms has a proportionally smaller weight. */
const FULL_WEIGHT_TERMS = 6;

/** Keeps a copy of the retrieval scores of one part of a query, because an index keeps the hits of its last search only. */
export class PartScores {
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
    const lexicals = scores.lexicalsOf(slots);
    const denses = scores.densesOf(slots);
    for (let i = 0; i < slots.length; i++) {
      this.#lexical[slots[i]] = lexicals[i];
      this.#dense[slots[i]] = denses[i];
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
  readonly #parts: readonly PartScores[];

  constructor(whole: FusedScores, parts: readonly PartScores[]) {
    this.#whole = whole;
    this.#parts = parts;
  }

  lexical(slot: number): number {
    return this.#lexical(this.#bestPart(slot), slot);
  }

  dense(slot: number): number {
    return this.#dense(this.#bestPart(slot), slot);
  }

  /** Returns e(q)·φ of the whole query: learners do not use the parts. */
  similarity(slot: number): number {
    return this.#whole.similarity(slot);
  }

  base(slot: number): number {
    return this.#base(this.#bestPart(slot), slot);
  }

  /** Returns g of all these slots for the whole query, followed by g for each part. */
  basesOf(slots: Int32Array): Float64Array[] {
    const whole = this.#whole;
    const lexicals = whole.lexicalsOf(slots);
    const denses = whole.densesOf(slots);
    const most = whole.fuseAll(lexicals, denses);
    const says = this.#parts.map((part) => {
      const bases = new Float64Array(slots.length);
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i];
        bases[i] = whole.fuse(
          lexicals[i] + part.weight * (part.lexical(slot) - lexicals[i]),
          denses[i] + part.weight * (part.dense(slot) - denses[i]),
        );
        if (bases[i] > most[i]) most[i] = bases[i];
      }
      return bases;
    });
    return [most, ...says];
  }

  /** Returns g of a tool for one part; null: for the whole query. */
  #base(part: PartScores | null, slot: number): number {
    return this.#whole.fuse(this.#lexical(part, slot), this.#dense(part, slot));
  }

  #bestPart(slot: number): PartScores | null {
    let best: PartScores | null = null;
    let most = this.#base(null, slot);
    for (const part of this.#parts) {
      const says = this.#base(part, slot);
      if (says > most) {
        best = part;
        most = says;
      }
    }
    return best;
  }

  #lexical(part: PartScores | null, slot: number): number {
    const whole = this.#whole.lexical(slot);
    return part === null ? whole : whole + part.weight * (part.lexical(slot) - whole);
  }

  #dense(part: PartScores | null, slot: number): number {
    const whole = this.#whole.dense(slot);
    return part === null ? whole : whole + part.weight * (part.dense(slot) - whole);
  }
}
