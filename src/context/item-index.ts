import { Bm25Index } from '../retrieval/bm25.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { StoredItem } from './item.ts';

/** What choosing among the items of a user reads of them, made once, when the user is opened. Row i is that of item i. */
export class ItemIndex {
  /** When what items are about takes place, ms since the epoch; 0: at no time. */
  readonly times: Float64Array;
  readonly #words = new Bm25Index();
  readonly #rows = new Map<string, number>();

  constructor(items: readonly StoredItem[]) {
    this.times = Float64Array.from(items, ({ at = 0 }) => at);
    for (const [row, { id, text }] of items.entries()) {
      this.#rows.set(id, row);
      this.#words.put(row, tokenise(text));
    }
  }

  /** Returns BM25 scores by row, valid until the next call; there may be more numbers than rows. */
  wordScores(tokens: Uint32Array): Float64Array {
    return this.#words.search(tokens).scores;
  }

  /** The row of an item; undefined: there is none with this id. */
  rowOf(id: string): number | undefined {
    return this.#rows.get(id);
  }

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#words.bytes + this.times.byteLength + 60 * this.#rows.size;
  }
}
