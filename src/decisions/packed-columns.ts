import type { BitReader } from '../storage/bit-reader.ts';
import type { BitWriter } from '../storage/bit-writer.ts';
import { usualBits } from '../storage/number-forms.ts';

/**
 * Columns of float32 in few bits, bit for bit. A column has one of these forms, the first that makes it short:
 *
 *   same    as an earlier column
 *   usual   the usual value, a bit per value that says which are others, the others: where little was learned
 *   near    how far each value is from what was foretold, counted in the numbers that float32 has between them
 *   whole   as numbers that have nothing to do with others
 */
const [SAME, USUAL, NEAR, WHOLE] = [0, 1, 2, 3];
const FORM_BITS = 2;
/** Of the index of a column. */
const INDEX_BITS = 8;
/** Of the number of bits that a distance usually has. */
const USUAL_BITS = 5;
const FARTHEST = 2 ** 24;
/** About what a number takes that is neither foretold nor usual. */
const LEAST_BITS = 24;

/** Foretells a column by earlier ones; nearly, since it was rounded to float32, and made of what those were before they were rounded. */
export interface Prediction {
  /** Rows of which the values are given, so that the others follow from them; found by earlier columns. */
  readonly given?: (earlier: readonly Float32Array[]) => readonly number[];
  /** Fills in the column. */
  readonly foretell: (
    column: Float32Array,
    earlier: readonly Float32Array[],
    given: readonly number[],
    rows: readonly number[],
  ) => void;
}

/** By the index of the column that they are for. */
export type Predictions = readonly (Prediction | undefined)[];

const NONE: Predictions = [];
const NO_ROWS: readonly number[] = [];

export function writeColumns(bits: BitWriter, columns: readonly Float32Array[], predictions = NONE): void {
  const words = columns.map(({ buffer, byteOffset, length }) => new Uint32Array(buffer, byteOffset, length));
  for (let at = 0, length = 0; at < columns.length; at++) {
    const column = words[at];
    bits.bit(column.length === length);
    if (column.length !== length) bits.count(column.length);
    length = column.length;
    const same = sameAs(words, at);
    if (same < 0) {
      writeColumn(bits, columns, at, column, predictions[at], SCRATCH.of(length));
    } else {
      bits.put(SAME, FORM_BITS);
      bits.put(same, INDEX_BITS);
    }
  }
}

/**
 * @param predictions those with which they were written
 * @throws Error when there cannot be so many: the bytes are damaged
 */
export function readColumns(bits: BitReader, count: number, predictions = NONE): Float32Array[] {
  const columns: Float32Array[] = [];
  let block = new Float32Array(0);
  for (let length = 0, used = 0; columns.length < count; ) {
    if (!bits.bit()) length = bits.length();
    bits.assertColumns(count, length);
    const form = bits.take(FORM_BITS);
    if (form === SAME) {
      columns.push(columns[bits.take(INDEX_BITS)]);
      continue;
    }
    // One buffer for all: the engine takes longer to allocate a small one than to fill it.
    if (used + length > block.length) {
      block = new Float32Array((count - columns.length) * length);
      used = 0;
    }
    const column = new Float32Array(block.buffer, 4 * used, length);
    used += length;
    readColumn(bits, form, column, columns, predictions[columns.length], SCRATCH.of(length));
    columns.push(column);
  }
  return columns;
}

/** Memory for the column at hand. */
class Scratch {
  foretold = new Float32Array(0);
  foretoldBits = new Uint32Array(0);
  words = new Uint32Array(0);

  of(length: number): this {
    if (this.words.length === length) return this;
    this.words = new Uint32Array(length);
    this.foretold = new Float32Array(length);
    this.foretoldBits = new Uint32Array(this.foretold.buffer);
    return this;
  }
}

/** For all decisions: their columns are mostly as long as those before. */
const SCRATCH = new Scratch();

function writeColumn(
  bits: BitWriter,
  columns: readonly Float32Array[],
  at: number,
  column: Uint32Array,
  prediction: Prediction | undefined,
  scratch: Scratch,
): void {
  if (prediction !== undefined && writeNear(bits, columns, at, column, prediction, scratch)) return;
  const { words } = scratch;
  const { length } = column;
  // The tool that fits least is one of those about which nothing was learned.
  const usual = column[length - 1];
  let count = 0;
  for (let row = 0; row < length; row++) if (column[row] !== usual) words[count++] = column[row];
  if ((length - count) * LEAST_BITS < length + 32) {
    bits.put(WHOLE, FORM_BITS);
    bits.numbers(column, length);
    return;
  }
  bits.put(USUAL, FORM_BITS);
  bits.put(usual, 32);
  let flags = 0;
  for (let row = 0; row < length; row++) {
    if (row > 0 && row % 32 === 0) {
      bits.put(flags, 32);
      flags = 0;
    }
    if (column[row] !== usual) flags |= 1 << (row % 32);
  }
  bits.put(flags, length % 32 || 32);
  bits.numbers(words, count);
}

/** Writes a column by what was foretold if that is near enough; returns whether it was. */
function writeNear(
  bits: BitWriter,
  columns: readonly Float32Array[],
  at: number,
  column: Uint32Array,
  { given, foretell }: Prediction,
  { foretold, foretoldBits, words }: Scratch,
): boolean {
  const rows = given === undefined ? NO_ROWS : given(columns);
  const known = rows.map((row) => columns[at][row]);
  foretell(foretold, columns, known, rows);
  let any = 0;
  for (let row = 0; row < column.length; row++) {
    const distance = (inOrder(column[row]) - inOrder(foretoldBits[row])) | 0;
    words[row] = (distance << 1) ^ (distance >> 31);
    any |= words[row];
  }
  if (any >>> 0 >= FARTHEST) return false;
  const usual = usualBits(words, column.length);
  let length = 32 * known.length;
  for (let row = 0; row < column.length; row++) {
    length += 2 * (31 - Math.clz32(words[row] + (1 << usual))) - usual + 1;
  }
  if (length >= LEAST_BITS * column.length) return false;
  bits.put(NEAR, FORM_BITS);
  for (const value of known) bits.f32(value);
  bits.put(usual, USUAL_BITS);
  bits.near(words, column.length, usual);
  return true;
}

function readColumn(
  bits: BitReader,
  form: number,
  values: Float32Array,
  columns: readonly Float32Array[],
  prediction: Prediction | undefined,
  { foretold, foretoldBits, words }: Scratch,
): void {
  const column = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const { length } = column;
  if (form === NEAR) {
    const { given, foretell } = prediction!;
    const rows = given === undefined ? NO_ROWS : given(columns);
    const known = rows.map(() => bits.f32());
    foretell(foretold, columns, known, rows);
    bits.near(words, length, bits.take(USUAL_BITS));
    for (let row = 0; row < length; row++) {
      const distance = (words[row] >>> 1) ^ -(words[row] & 1);
      column[row] = outOfOrder(inOrder(foretoldBits[row]) + distance);
    }
  } else if (form === USUAL) {
    column.fill(bits.take(32));
    const others: number[] = [];
    for (let row = 0; row < length; row += 32) {
      const flags = bits.take(Math.min(32, length - row));
      for (let rest = flags; rest !== 0; rest &= rest - 1) others.push(row + 31 - Math.clz32(rest & -rest));
    }
    bits.numbers(words, others.length);
    for (let i = 0; i < others.length; i++) column[others[i]] = words[i];
  } else {
    bits.numbers(column, length);
  }
}

/** Returns the bits of a number as an integer in the same order as the number, so that a difference counts what lies between two. */
function inOrder(bits: number): number {
  return bits >>> 31 === 1 ? ~bits : bits | 0x80000000;
}

function outOfOrder(integer: number): number {
  return (integer | 0) < 0 ? integer & 0x7fffffff : ~integer;
}

/** Returns the first column before this one that has the same bits; −1 if there is none. */
function sameAs(words: readonly Uint32Array[], at: number): number {
  const column = words[at];
  const { length } = column;
  for (let i = 0; i < at && i < 2 ** INDEX_BITS; i++) {
    const other = words[i];
    if (other.length !== length) continue;
    let row = 0;
    while (row < length && other[row] === column[row]) row++;
    if (row === length) return i;
  }
  return -1;
}
