import type { PartScores, UsedScores } from './part-scores.ts';
import type { FusedScores } from './retrieval-scores.ts';

/** A query, or a part of one. */
export interface SearchedText {
  /** e(q), or null when there is none: BM25 decides alone. */
  readonly embedding: Float32Array | null;
  /** Its terms, of `tokenise`. */
  readonly tokens: Uint32Array;
}

/** The result of searching for one text; valid until the next search. */
export interface FoundText {
  readonly slots: Int32Array;
  readonly scores: FusedScores;
  /** All slots lie below this. */
  readonly capacity: number;
  readonly bestBm25: number;
  readonly bestSimilarity: number;
}

/** The result for one part of the query, copied. */
export interface FoundPart {
  readonly slots: Int32Array;
  readonly scores: PartScores | UsedScores;
}

/** What was found for the texts of one query, all scores of each, so that who searches for it again with more texts searches for those alone. */
export class SearchedTexts {
  #contents: object | null = null;
  #whole: { readonly tokens: Uint32Array; readonly found: FoundText } | null = null;
  /** By their tokens. */
  readonly #parts = new Map<Uint32Array, FoundPart>();

  /** Forgets what was found among other contents. */
  among(contents: object): this {
    if (this.#contents !== contents) {
      this.#contents = contents;
      this.#whole = null;
      this.#parts.clear();
    }
    return this;
  }

  whole({ tokens }: SearchedText): FoundText | null {
    return this.#whole?.tokens === tokens ? this.#whole.found : null;
  }

  part({ tokens }: SearchedText): FoundPart | null {
    return this.#parts.get(tokens) ?? null;
  }

  keepWhole({ tokens }: SearchedText, found: FoundText): void {
    const slots = found.slots.slice();
    this.#whole = { tokens, found: { ...found, slots, scores: found.scores.copyOf(slots) } };
  }

  keepPart({ tokens }: SearchedText, found: FoundPart): void {
    this.#parts.set(tokens, found);
  }
}
