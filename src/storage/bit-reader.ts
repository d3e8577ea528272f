import {
  DIFFERENT_BITS,
  DOUBLE,
  DOUBLE_WORDS,
  EXPONENT_BITS,
  FIXED_SCALE_BITS,
  FLOAT,
  FLOAT_WORD,
  fixedUnit,
  MANTISSA_BITS,
  type SparseVector,
  signFirst,
  USUAL_BITS,
  USUAL_GAP_BITS,
  WORD_DIGITS,
} from './number-forms.ts';

/** Reads what a BitWriter wrote, in the same order. */
export class BitReader {
  readonly #words: Uint32Array;
  #at = 0;

  constructor(words: Uint32Array) {
    this.#words = words;
  }

  take(width: number): number {
    const word = this.#at >>> 5;
    const shift = this.#at & 31;
    let value = this.#words[word] >>> shift;
    if (shift + width > 32) value |= this.#words[word + 1] << (32 - shift);
    this.#at += width;
    return width === 32 ? value >>> 0 : value & ((1 << width) - 1);
  }

  bit(): boolean {
    return this.take(1) === 1;
  }

  count(): number {
    const width = this.take(6);
    const low = this.take(Math.min(width, 32)) >>> 0;
    return width > 32 ? this.take(width - 32) * 2 ** 32 + low : low;
  }

  /** Reads the length of a list. @throws Error when it is more than such a document can hold: its bytes are damaged */
  length(): number {
    const length = this.count();
    if (length <= this.#most) return length;
    throw new Error(`This document is damaged: it says that it holds a list of ${length} numbers.`);
  }

  /** @throws Error when columns of this length are more than such a document can hold, or than is allocated quickly */
  assertColumns(count: number, length: number): void {
    if (count * Math.max(1, length) <= Math.max(this.#most, QUICKLY_ALLOCATED)) return;
    throw new Error(`This document is damaged: it says that it holds ${count} columns of ${length} numbers.`);
  }

  get #most(): number {
    return MOST_PER_WORD * (this.#words.length + 1);
  }

  f32(): number {
    FLOAT_WORD[0] = this.take(32);
    return FLOAT[0];
  }

  f64(): number {
    DOUBLE_WORDS[0] = this.take(32);
    DOUBLE_WORDS[1] = this.take(32);
    return DOUBLE[0];
  }

  double(): number {
    return this.bit() ? this.f32() : this.f64();
  }

  /** @param digits how many were written */
  hex(digits: number): string {
    let text = '';
    for (let left = digits; left > 0; left -= WORD_DIGITS) {
      const count = Math.min(left, WORD_DIGITS);
      const word = this.take(4 * count);
      text += word.toString(16).padStart(count, '0');
    }
    return text;
  }

  integers(): number[] {
    const count = this.length();
    const width = this.take(6);
    const values: number[] = [];
    while (values.length < count) values.push(this.take(width) >>> 0);
    return values;
  }

  /** @param count at most the length of `words` */
  words(words: Uint32Array, count: number): void {
    const from = this.#words;
    const shift = this.#at & 31;
    let word = this.#at >>> 5;
    for (let i = 0; i < count; i++, word++) {
      words[i] = shift === 0 ? from[word] : (from[word] >>> shift) | (from[word + 1] << (32 - shift));
    }
    this.#at += 32 * count;
  }

  /** Reads the bits of `count` numbers. */
  numbers(numbers: Uint32Array, count: number): void {
    if (!this.bit()) {
      this.#plain(numbers, count);
      return;
    }
    const values = new Uint32Array(this.take(DIFFERENT_BITS));
    this.#plain(values, values.length);
    const width = 32 - Math.clz32(values.length - 1);
    const from = this.#words;
    const mask = (1 << width) - 1;
    let at = this.#at;
    for (let i = 0; i < count; i++, at += width) {
      numbers[i] = values[windowAt(from, at) & mask];
    }
    this.#at = at;
  }

  #plain(numbers: Uint32Array, count: number): void {
    if (this.bit()) this.#spread(numbers, count);
    else this.#range(numbers, count);
  }

  #range(numbers: Uint32Array, count: number): void {
    const width = this.take(6);
    const least = this.take(32);
    const from = this.#words;
    const mask = width === 32 ? -1 : (1 << width) - 1;
    let at = this.#at;
    for (let i = 0; i < count; i++, at += width) {
      numbers[i] = signFirst(least + (windowAt(from, at) & mask));
    }
    this.#at = at;
  }

  #spread(numbers: Uint32Array, count: number): void {
    const highest = this.take(EXPONENT_BITS);
    const usual = this.take(USUAL_GAP_BITS);
    const signs = this.take(1);
    const width = signs + (this.bit() ? MANTISSA_BITS : 0);
    const mask = (1 << width) - 1;
    const from = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      const window = windowAt(from, at);
      const ones = onesOf(window);
      const rest = ones + usual;
      const gap = ((window >>> (ones + 1)) & ((1 << rest) - 1)) + (1 << rest) - (1 << usual);
      const gapWidth = ones + 1 + rest;
      at += gapWidth;
      const word = (gapWidth + width > 32 ? windowAt(from, at) : window >>> gapWidth) & mask;
      at += width;
      const sign = signs === 0 ? 0 : word << 31;
      numbers[i] = sign | ((highest - gap) << MANTISSA_BITS) | (signs === 0 ? word : word >>> 1);
    }
    this.#at = at;
  }

  near(words: Uint32Array, count: number, usual: number): void {
    const from = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      const window = windowAt(from, at);
      const ones = onesOf(window);
      const width = usual + ones;
      at += ones + 1;
      const value = ones + 1 + width > 32 ? windowAt(from, at) : window >>> (ones + 1);
      at += width;
      words[i] = (value & ((1 << width) - 1)) + (1 << width) - (1 << usual);
    }
    this.#at = at;
  }

  vector(): Float32Array {
    const numbers = new Uint32Array(this.length());
    const values = new Float32Array(numbers.buffer);
    if (!this.bit()) {
      this.numbers(numbers, numbers.length);
      return values;
    }
    const unit = fixedUnit(this.take(FIXED_SCALE_BITS));
    this.near(numbers, numbers.length, this.take(USUAL_BITS));
    for (let i = 0; i < numbers.length; i++) values[i] = ((numbers[i] >>> 1) ^ -(numbers[i] & 1)) * unit;
    return values;
  }

  floats(): Float32Array {
    const words = new Uint32Array(this.length());
    const places: number[] = [];
    for (let i = 0; i < words.length; i++) if (this.bit()) places.push(i);
    const others = new Uint32Array(places.length);
    this.numbers(others, places.length);
    for (let i = 0; i < places.length; i++) words[places[i]] = others[i];
    return new Float32Array(words.buffer);
  }

  doubles(): number[] {
    const count = this.length();
    const values: number[] = [];
    while (values.length < count) values.push(this.double());
    return values;
  }

  terms(): SparseVector {
    const terms = new Uint32Array(this.length());
    this.words(terms, terms.length);
    return { terms, weights: this.vector() };
  }
}

/** Zeros and what is all alike take no bits, but a list of a thousand for each word is no list. */
const MOST_PER_WORD = 1024;
/** So many numbers are 4 MB: columns that are the same take but their index, however long they are. */
const QUICKLY_ALLOCATED = 2 ** 20;

/** Returns the 32 bits from this one on; behind the last word are zeros. */
function windowAt(words: Uint32Array, at: number): number {
  const word = at >>> 5;
  const shift = at & 31;
  // Two shifts, since one of 32 bits is none at all.
  return (words[word] >>> shift) | ((words[word + 1] << 1) << (31 - shift));
}

/** Returns how many of the lowest bits are ones, up to the first 0. */
function onesOf(word: number): number {
  const zeros = ~word;
  return zeros === 0 ? 32 : 31 - Math.clz32(zeros & -zeros);
}
