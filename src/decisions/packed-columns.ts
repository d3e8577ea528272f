/**
 * Columns of numbers as 32-bit words, bit for bit. Some are just like another one, and where little was learned most values of a
 * column are the same. Per column there is a word, form + 256 · number of values, and then:
 *
 *   0       the values
 *   1       the usual value, a bit per value that says which are others, the others
 *   2 + i   nothing: the same as column i
 */
const WHOLE = 0;
const SPARSE = 1;
const SAME = 2;
const FORMS = 256;

export function packColumns(columns: readonly Float32Array[]): Uint32Array {
  const words = columns.map(({ buffer, byteOffset, length }) => new Uint32Array(buffer, byteOffset, length));
  const packed = new Uint32Array(words.reduce((sum, { length }) => sum + 1 + length, 0));
  let end = 0;
  for (let at = 0; at < words.length; at++) {
    const column = words[at];
    const same = sameAs(words, at);
    if (same >= 0) {
      packed[end++] = SAME + same + FORMS * column.length;
      continue;
    }
    const sparse = writeSparse(packed, end, column);
    if (sparse > 0) {
      end = sparse;
      continue;
    }
    packed[end] = WHOLE + FORMS * column.length;
    packed.set(column, end + 1);
    end += 1 + column.length;
  }
  return packed.slice(0, end);
}

/** Columns may share memory with each other and with `packed`. */
export function unpackColumns(packed: Uint32Array): Float32Array[] {
  const columns: Float32Array[] = [];
  for (let at = 0; at < packed.length; ) {
    const form = packed[at] & (FORMS - 1);
    const length = packed[at++] >>> 8;
    if (form >= SAME) {
      columns.push(columns[form - SAME]);
    } else if (form === WHOLE) {
      columns.push(new Float32Array(packed.buffer, packed.byteOffset + 4 * at, length));
      at += length;
    } else {
      const words = new Uint32Array(length);
      at = readSparse(packed, at, words);
      columns.push(new Float32Array(words.buffer));
    }
  }
  return columns;
}

/** Returns the first column before `at` that has the same bits; −1 if there is none. */
function sameAs(words: readonly Uint32Array[], at: number): number {
  const column = words[at];
  for (let i = 0; i < Math.min(at, FORMS - SAME); i++) {
    const other = words[i];
    if (other.length !== column.length) continue;
    let row = 0;
    while (row < column.length && other[row] === column[row]) row++;
    if (row === column.length) return i;
  }
  return -1;
}

/** Writes a column if that takes fewer words than its values. Returns where it ends; 0 if it was not written. */
function writeSparse(packed: Uint32Array, start: number, column: Uint32Array): number {
  const { length } = column;
  // The tool that fits least is one of those about which nothing was learned.
  const usual = column[length - 1];
  const bits = Math.ceil(length / 32);
  let others = 0;
  for (let row = 0; row < length; row++) if (column[row] !== usual) others++;
  if (1 + bits + others >= length) return 0;
  packed[start] = SPARSE + FORMS * length;
  packed[start + 1] = usual;
  const mask = start + 2;
  packed.fill(0, mask, mask + bits);
  let end = mask + bits;
  for (let row = 0; row < length; row++) {
    if (column[row] === usual) continue;
    packed[mask + (row >>> 5)] |= 1 << (row & 31);
    packed[end++] = column[row];
  }
  return end;
}

/** Fills a column. Returns where it ends. */
function readSparse(packed: Uint32Array, start: number, column: Uint32Array): number {
  const mask = start + 1;
  let end = mask + Math.ceil(column.length / 32);
  for (let row = 0; row < column.length; row++) {
    const isOther = (packed[mask + (row >>> 5)] >>> (row & 31)) & 1;
    column[row] = isOther === 1 ? packed[end++] : packed[start];
  }
  return end;
}
