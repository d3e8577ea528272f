import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { cosine, ToolVectors } from '../../bandit/tool-vectors.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { BestSlots } from '../retrieval/best-slots.ts';
import { denseText } from '../retrieval/document-text.ts';
import { type Term, tokenise } from '../retrieval/tokenise.ts';

/** How many neighbours of a tool are compared with it, by vectors and by words each (ToolScope, appendix I). */
export const MOST_NEIGHBOURS = 30;

/** Tools whose words are at least so similar are compared; where there are no vectors, it takes less (bench/merging.ts). */
const LEAST_WORDS = 0.75;
const LEAST_WORDS_ALONE = 0.5;

/** Another tool, and how similar it is. */
export interface Neighbour {
  readonly slot: number;
  /** Cosine of the two vectors, −1…1; null: there are none. */
  readonly similarity: number | null;
}

/**
 * Finds the tools that may do the same as a given one: those with the nearest vectors, and those with the same rare words, so that it
 * works without an embedder as well. It is kept from pass to pass, and is told which tools changed.
 */
export class ToolNeighbours {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors | null;
  readonly #threshold: number;
  readonly #words: WordSets;
  #own: OwnVectors | null = null;
  #cosines: Float32Array | null = null;
  #rows = 0;

  /** @param threshold least cosine of tools that are compared. @param vectors null: words decide alone. */
  constructor(kernels: Kernels, vectors: ToolVectors | null, threshold: number) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#threshold = threshold;
    this.#words = new WordSets(vectors === null ? LEAST_WORDS_ALONE : LEAST_WORDS);
  }

  /** Begins a pass. @param own vectors of tools, by slot, where the table has others */
  begin(own: ReadonlyMap<number, Float32Array>): void {
    this.rest();
    if (own.size > 0 && this.#vectors !== null)
      this.#own = new OwnVectors(this.#kernels, this.#vectors.dimensions, own);
  }

  put(slot: number, tool: ToolDefinition): void {
    this.#words.put(slot, tokenise(denseText(tool)));
    this.#rows = Math.max(this.#rows, slot + 1);
  }

  remove(slot: number): void {
    this.#words.remove(slot);
  }

  /** Returns the neighbours of a tool; those by vector first, nearest first. */
  of(slot: number): Neighbour[] {
    const cosines = this.#cosinesOf(slot);
    const slots = new Set([...this.#nearest(slot, cosines), ...this.#words.similar(slot)]);
    return Array.from(slots, (other) => ({ slot: other, similarity: cosines?.[other] ?? null }));
  }

  /** Returns the cosine of the vectors of two tools; null: there are none. */
  similarity(a: number, b: number): number | null {
    return this.#vectors === null ? null : cosine(this.#vectorOf(a), this.#vectorOf(b));
  }

  /** Frees what only a pass needs; the next one takes it again. */
  rest(): void {
    this.#own?.free();
    this.#own = null;
    this.#freeCosines();
  }

  #freeCosines(): void {
    if (this.#cosines !== null) this.#kernels.free(this.#cosines);
    this.#cosines = null;
  }

  #vectorOf(slot: number): Float32Array {
    return this.#own?.get(slot) ?? this.#vectors!.get(slot);
  }

  /** Returns the cosines of all tools with this one, by slot, until the next call; null: there are no vectors. */
  #cosinesOf(slot: number): Float32Array | null {
    if (this.#vectors === null) return null;
    const { values, stride, capacity } = this.#vectors;
    if (this.#cosines === null || this.#cosines.length < capacity) {
      this.#freeCosines();
      this.#cosines = this.#kernels.allocateFloat32(capacity);
    }
    const query = this.#vectorOf(slot);
    this.#kernels.scan(values, stride, Math.min(this.#rows, capacity), query, this.#cosines);
    this.#own?.scan(query, this.#cosines);
    return this.#cosines;
  }

  #nearest(slot: number, cosines: Float32Array | null): Int32Array {
    if (cosines === null) return NONE;
    const best = new BestSlots(MOST_NEIGHBOURS);
    for (let other = 0; other < this.#rows; other++) {
      if (!(cosines[other] >= this.#threshold) || other === slot || !this.#words.has(other)) continue;
      best.offer(other, cosines[other]);
    }
    return best.list();
  }
}

const NONE = new Int32Array(0);

/** The vectors of a few tools, for one pass. */
class OwnVectors {
  readonly #kernels: Kernels;
  readonly #table: ToolVectors;
  readonly #rows = new Map<number, number>();
  readonly #cosines: Float32Array;

  constructor(kernels: Kernels, dimensions: number, own: ReadonlyMap<number, Float32Array>) {
    this.#kernels = kernels;
    this.#table = new ToolVectors(kernels, dimensions);
    for (const [slot, vector] of own) {
      this.#table.put(this.#rows.size, vector);
      this.#rows.set(slot, this.#rows.size);
    }
    this.#cosines = kernels.allocateFloat32(this.#rows.size);
  }

  get(slot: number): Float32Array | undefined {
    const row = this.#rows.get(slot);
    return row === undefined ? undefined : this.#table.get(row);
  }

  /** Writes the cosines of these tools over those of what is served in their place. */
  scan(query: Float32Array, cosines: Float32Array): void {
    const { values, stride } = this.#table;
    this.#kernels.scan(values, stride, this.#rows.size, query, this.#cosines);
    for (const [slot, row] of this.#rows) cosines[slot] = this.#cosines[row];
  }

  free(): void {
    this.#table.free();
    this.#kernels.free(this.#cosines);
  }
}

/**
 * Finds sets of words that are similar by their cosine, |x ∩ y|/√(|x|·|y|), which no other set changes. Of two sets whose cosine is at
 * least t, y has t²·|x| words of x at least, so it has one of all words of x but that many less one: the rarest are looked up
 * (prefix filtering: Chaudhuri, Ganti & Kaushik 2006).
 */
class WordSets {
  readonly #least: number;
  readonly #terms: (Uint32Array | undefined)[] = [];
  readonly #having = new Map<Term, Set<number>>();

  constructor(least: number) {
    this.#least = least;
  }

  has(slot: number): boolean {
    return this.#terms[slot] !== undefined;
  }

  put(slot: number, tokens: Uint32Array): void {
    this.remove(slot);
    const terms = Uint32Array.from(new Set(tokens));
    this.#terms[slot] = terms;
    for (const term of terms) {
      const slots = this.#having.get(term);
      if (slots === undefined) this.#having.set(term, new Set([slot]));
      else slots.add(slot);
    }
  }

  remove(slot: number): void {
    const terms = this.#terms[slot];
    if (terms === undefined) return;
    for (const term of terms) {
      const slots = this.#having.get(term)!;
      slots.delete(slot);
      if (slots.size === 0) this.#having.delete(term);
    }
    this.#terms[slot] = undefined;
  }

  /** Returns the sets that are similar enough, best first, `MOST_NEIGHBOURS` at most. */
  similar(slot: number): Int32Array {
    const terms = this.#terms[slot] ?? NO_TERMS;
    const own = new Set(terms);
    const best = new BestSlots(MOST_NEIGHBOURS);
    for (const other of this.#sharingRareWords(terms)) {
      if (other === slot) continue;
      const others = this.#terms[other]!;
      let shared = 0;
      for (const term of others) if (own.has(term)) shared++;
      const cosine = shared / Math.sqrt(terms.length * others.length);
      if (cosine >= this.#least) best.offer(other, cosine);
    }
    return best.list();
  }

  #sharingRareWords(terms: Uint32Array): Set<number> {
    const found = new Set<number>();
    const rarest = Array.from(terms, (term) => this.#having.get(term)!).sort((a, b) => a.size - b.size);
    const looked = terms.length - Math.ceil(this.#least * this.#least * terms.length - ROUNDING) + 1;
    for (const slots of rarest.slice(0, looked)) for (const slot of slots) found.add(slot);
    return found;
  }
}

const NO_TERMS = new Uint32Array(0);
/** More than the rounding of a few operations on numbers of this size. */
const ROUNDING = 1e-9;
