import { ShortDocuments } from '../retrieval/short-documents.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { labelsOf, type StoredItem } from './item.ts';
import type { ItemRecord } from './item-record.ts';
import type { RoughCosines } from './rough-cosines.ts';

/** That a row takes by its id. A token takes four bytes, and has four characters or more. */
const ROW_BYTES = 60;

/** Characters of a text whose words are compared with a query, and of all texts together, which are cut alike if they are longer. */
const [MOST_CHARACTERS, MOST_OF_ALL] = [500, 131_072];

/**
 * What choosing among the items of a user reads of them. Row i is that of item i. Words and rows are read when they are asked for
 * first, and kept then: putting items needs neither.
 */
export class ItemIndex {
  /** When what items are about takes place, ms since the epoch; 0: at no time. */
  readonly times: Float64Array;
  /** About how much memory it takes once all of it was asked for. */
  readonly bytes: number;
  readonly #record: ItemRecord;
  readonly #cosines: RoughCosines;
  #words: ShortDocuments | null = null;
  #rows: ReadonlyMap<string, number> | null = null;

  constructor(record: ItemRecord, cosines: RoughCosines) {
    this.#record = record;
    this.#cosines = cosines;
    this.times = Float64Array.from(record.items, ({ at = 0 }) => at);
    this.bytes = record.items.reduce((sum, item) => sum + bytesOf(item), 1000 + this.times.byteLength);
  }

  /** Returns BM25 scores by row. */
  wordScores(tokens: Uint32Array): Float64Array {
    this.#words ??= new ShortDocuments(wordsOf(this.#record.items));
    return this.#words.scores(tokens);
  }

  /** Returns cosines with the query by row, in eight bits and up to a factor; 0 where there is no vector. */
  roughCosines(query: Float32Array): Float64Array {
    return this.#cosines.of(this.#record.vectors, query);
  }

  /** The row of an item; undefined: there is none with this id. */
  rowOf(id: string): number | undefined {
    this.#rows ??= new Map(this.#record.items.map((item, row) => [item.id, row]));
    return this.#rows.get(id);
  }
}

const bytesOf = (item: StoredItem): number =>
  ROW_BYTES + Math.min(comparedText(item).length, MOST_CHARACTERS);

/** Labels first: a long text is cut, and its tags are compared all the same. */
function comparedText(item: StoredItem): string {
  const labels = labelsOf(item);
  return labels === '' ? item.text : `${labels}\n${item.text}`;
}

function wordsOf(items: readonly StoredItem[]): Uint32Array[] {
  const texts = items.map(comparedText);
  const all = texts.reduce((sum, { length }) => sum + Math.min(length, MOST_CHARACTERS), 0);
  const most = all <= MOST_OF_ALL ? MOST_CHARACTERS : Math.floor(MOST_OF_ALL / items.length);
  return texts.map((text) => tokenise(text.slice(0, most)));
}
