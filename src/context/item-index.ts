import { Bm25Index } from '../retrieval/bm25.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { StoredItem } from './item.ts';

/** What choosing among the items of a user reads of their texts, made once, when the user is opened. Row i is that of item i. */
export class ItemIndex {
  readonly #words = new Bm25Index();

  constructor(items: readonly StoredItem[]) {
    for (const [row, { text }] of items.entries()) this.#words.put(row, tokenise(text));
  }

  /** Returns BM25 scores by row, valid until the next call; there may be more numbers than rows. */
  wordScores(tokens: Uint32Array): Float64Array {
    return this.#words.search(tokens).scores;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#words.bytes;
  }
}
