import type { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { ShortDocuments } from '../retrieval/short-documents.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { labelsOf, type StoredItem } from './item.ts';
import type { ItemCosines } from './item-cosines.ts';
import type { ItemRecord } from './item-record.ts';
import type { UserSignals } from './user-signals.ts';

/** That a row takes by its id. A token takes four bytes, and has four characters or more. */
const ROW_BYTES = 70;

/** Characters of a text whose words are compared with a query, and of all texts together, which are cut alike if they are longer. */
const [MOST_CHARACTERS, MOST_OF_ALL] = [500, 131_072];

/**
 * What choosing among the items of a user reads of them. Row i is that of item i. Words and uses are read when they are asked for
 * first, and kept then: putting items needs neither.
 */
export class ItemIndex {
  /** When what items are about takes place, ms since the epoch; 0: at no time. */
  readonly times: Float64Array;
  /** About how much memory it takes once all of it was asked for. */
  readonly bytes: number;
  readonly #record: ItemRecord;
  readonly #cosines: ItemCosines;
  #words: ShortDocuments | null = null;
  #usages: {
    readonly signals: Pick<UserSignals, 'changes' | 'of'>;
    readonly of: number;
    readonly rows: readonly (UsageSignals | undefined)[];
  } | null = null;

  constructor(record: ItemRecord, cosines: ItemCosines) {
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
    return this.#cosines.rough(this.#record.vectors, query);
  }

  /** Returns the products of the vectors of these rows with a query; NaN where there is no vector. */
  products(rows: Uint32Array, query: Float32Array): Float64Array {
    return this.#cosines.exact(this.#record.vectors, rows, query);
  }

  /** Returns how each item was used, by row; undefined: it was not. */
  usages(signals: Pick<UserSignals, 'changes' | 'of'>): readonly (UsageSignals | undefined)[] {
    if (this.#usages?.signals !== signals || this.#usages.of !== signals.changes) {
      const rows = this.#record.items.map(({ id }) => signals.of(id));
      this.#usages = { signals, of: signals.changes, rows };
    }
    return this.#usages.rows;
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
