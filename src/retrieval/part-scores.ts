import { type ProposalRequest, proposals, withinReach } from './best-slots.ts';
import type { FusedScores, RetrievalScores, ToolScores } from './retrieval-scores.ts';

/** Largest weight of a part of the query against the whole query. */
const PART_WEIGHT = 0.7;
/** A part with fewer terms has a proportionally smaller weight. */
const FULL_WEIGHT_TERMS = 6;

/** More than rounding h and c to float32 changes. */
const FLOAT32_ROUNDING = 2 ** -23;
/** More than the rounding of a few operations on numbers of 0…1. */
const ROUNDING = 1e-12;

/** What scores tools beside the whole query; its h, c and g are 0…1. */
interface Part {
  /** 0…1. */
  readonly weight: number;
  /** No g that `writeAbout` writes is further from the exact one. */
  readonly margin: number;
  lexical(slot: number): number;
  dense(slot: number): number;
  /** Writes about g of these slots, in their order. */
  writeAbout(slots: Int32Array, out: Float64Array): void;
}

/** The retrieval scores of one part of a query, as float32. */
export class PartScores implements Part {
  /** 0…PART_WEIGHT. */
  readonly weight: number;
  readonly margin: number;
  readonly #scores: FusedScores;

  /** @param terms how many the part has. @param scores a copy, because an index keeps the hits of its last search only. */
  constructor(terms: number, scores: FusedScores) {
    this.weight = PART_WEIGHT * Math.min(1, terms / FULL_WEIGHT_TERMS);
    this.margin = scores.margin + FLOAT32_ROUNDING;
    this.#scores = scores;
  }

  /** Returns h within this part. */
  lexical(slot: number): number {
    return Math.fround(this.#scores.lexical(slot));
  }

  /** Returns c within this part. */
  dense(slot: number): number {
    return Math.fround(this.#scores.dense(slot));
  }

  writeAbout(slots: Int32Array, out: Float64Array): void {
    this.#scores.writeAbout(slots, out);
  }
}

/** Scores tools by how they were used rather than by their texts: h = c = g is the number that is given for them, and 0 of all others. */
export class UsedScores implements Part {
  readonly weight = 1;
  readonly margin = 0;
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

  writeAbout(slots: Int32Array, out: Float64Array): void {
    for (let i = 0; i < slots.length; i++) out[i] = this.#given[slots[i]];
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

  /** Returns the slots with the largest g, followed by those of each part, best first. */
  lists(slots: Int32Array, request: ProposalRequest): Int32Array[] {
    const whole = this.#whole;
    const [own, most, ...says] = whole.columns.take(2 + this.#parts.length, slots.length);
    whole.writeAbout(slots, own);
    for (let i = 0; i < slots.length; i++) most[i] = own[i];
    for (let p = 0; p < says.length; p++) {
      const part = this.#parts[p];
      part.writeAbout(slots, says[p]);
      takeMost(own, part.weight, says[p], most, slots.length);
    }
    const margins = this.#parts.map(
      (part) => (1 - part.weight) * whole.margin + part.weight * part.margin + ROUNDING,
    );
    const all = withinReach(slots, most, Math.max(whole.margin, ...margins), request);
    const lists = [proposals(all, this.#basesOf(all), request)];
    for (let p = 0; p < says.length; p++) {
      const near = withinReach(slots, says[p], margins[p], request);
      lists.push(proposals(near, this.#saysOf(near, this.#parts[p]), request));
    }
    return lists;
  }

  /** Returns g of these slots. */
  #basesOf(slots: Int32Array): Float64Array {
    const whole = this.#whole;
    const most = new Float64Array(slots.length);
    for (let i = 0; i < slots.length; i++)
      most[i] = whole.fuse(whole.lexical(slots[i]), whole.dense(slots[i]));
    // Part by part, since a cosine with the same query as the one before takes less time.
    for (const part of this.#parts) {
      const says = this.#saysOf(slots, part);
      for (let i = 0; i < slots.length; i++) if (says[i] > most[i]) most[i] = says[i];
    }
    return most;
  }

  /** Returns g of these slots for one part. */
  #saysOf(slots: Int32Array, part: Part): Float64Array {
    const whole = this.#whole;
    const says = new Float64Array(slots.length);
    for (let i = 0; i < slots.length; i++) {
      const lexical = whole.lexical(slots[i]);
      const dense = whole.dense(slots[i]);
      says[i] = whole.fuse(
        lexical + part.weight * (part.lexical(slots[i]) - lexical),
        dense + part.weight * (part.dense(slots[i]) - dense),
      );
    }
    return says;
  }
}

/** Mixes what a part says with what the whole query does, and keeps the largest. */
function takeMost(
  own: Float64Array,
  weight: number,
  says: Float64Array,
  most: Float64Array,
  length: number,
): void {
  for (let i = 0; i < length; i++) {
    const base = own[i] + weight * (says[i] - own[i]);
    says[i] = base;
    if (base > most[i]) most[i] = base;
  }
}
