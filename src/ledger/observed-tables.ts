import type { BitReader } from '../storage/bit-reader.ts';
import type { BitWriter } from '../storage/bit-writer.ts';
import type { ObservedColumns, ObservedDecision } from './entry.ts';

/** In the order in which they are written. */
const COLUMNS = ['similarity', 'lexical', 'dense', 'retrieval'] as const satisfies (keyof ObservedColumns)[];
/** Of the index of a column. */
const INDEX_BITS = 2;

/**
 * Writes the columns of an observed decision, and the features of each version, which are a table with a row for each value of a column.
 * Some features are columns as well, and are not written again; the others come after the columns as one list.
 */
export function writeTables(
  bits: BitWriter,
  columns: ObservedColumns,
  tables: readonly Float32Array[],
): void {
  const own = COLUMNS.map((name) => wordsOf(columns[name]));
  let room = 0;
  for (const { length } of own) room += length;
  for (const { length } of tables) room += length;
  const all = new Uint32Array(room);
  let size = 0;
  for (const column of own) {
    bits.count(column.length);
    all.set(column, size);
    size += column.length;
  }
  const rows = own[0].length;
  for (const words of tables.map(wordsOf)) {
    bits.count(words.length);
    const width = widthOf(words.length, rows);
    for (let at = 0; at < width; at++) {
      const same = own.findIndex((column) => isColumn(words, at, width, column, rows));
      bits.bit(same >= 0);
      if (same >= 0) bits.put(same, INDEX_BITS);
      else for (let from = at; from < words.length; from += width) all[size++] = words[from];
    }
  }
  bits.floats(new Float32Array(all.buffer, 0, size));
}

export function readTables(
  bits: BitReader,
  versions: readonly string[],
): Pick<ObservedDecision, 'columns' | 'features'> {
  const lengths = COLUMNS.map(() => bits.length());
  const rows = lengths[0];
  const tables = versions.map(() => {
    const length = bits.length();
    const places: number[] = [];
    for (let width = widthOf(length, rows); places.length < width; ) {
      places.push(bits.bit() ? bits.take(INDEX_BITS) : COLUMNS.length);
    }
    return { places, length };
  });
  const all = bits.floats();
  let from = 0;
  const next = (length: number): Float32Array => {
    const start = from;
    from += length;
    return all.subarray(start, from);
  };
  const own = lengths.map(next);
  const features = tables.map(({ places, length }) => {
    const table = new Float32Array(length);
    const width = places.length;
    for (let at = 0; at < width; at++) {
      const column = places[at] < own.length ? own[places[at]] : next(length / width);
      for (let row = 0; row * width < length; row++) table[row * width + at] = column[row];
    }
    return table;
  });
  const [similarity, lexical, dense, retrieval] = own;
  return {
    columns: { similarity, lexical, dense, retrieval },
    features: Object.fromEntries(versions.map((version, i) => [version, features[i]])),
  };
}

/** Returns how many columns a table of so many values has; what is no table is one column. */
function widthOf(length: number, rows: number): number {
  return rows > 0 && length % rows === 0 ? length / rows : Math.min(1, length);
}

/** Returns whether a column of a table is one of these, bit for bit. */
function isColumn(table: Uint32Array, at: number, width: number, column: Uint32Array, rows: number): boolean {
  if (column.length !== rows || width * rows !== table.length) return false;
  for (let row = 0; row < rows; row++) if (table[row * width + at] !== column[row]) return false;
  return true;
}

function wordsOf({ buffer, byteOffset, length }: Float32Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length);
}
