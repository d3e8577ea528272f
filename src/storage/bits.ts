/** Lists of one length. */
interface SparseVector {
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
}

/**
 * Writes numbers one after the other, each in as many bits as it is given, into words of 32 bits. Loops over many numbers keep the
 * position in a variable: a call for each would take three times as long.
 */
export class BitWriter {
  #words = new Uint32Array(1024);
  #at = 0;

  /** Returns itself without what was written, and with the memory for as much again. */
  emptied(): this {
    this.#words.fill(0, 0, (this.#at >>> 5) + 2);
    this.#at = 0;
    return this;
  }

  /** Returns what was written, not a copy: valid until something else is written. */
  get written(): Uint32Array {
    return this.#words.subarray(0, (this.#at + 31) >>> 5);
  }

  /** @param value 0 … 2^width − 1. @param width 0 … 32 */
  put(value: number, width: number): void {
    this.#room(width);
    const word = this.#at >>> 5;
    const shift = this.#at & 31;
    this.#words[word] |= value << shift;
    if (shift + width > 32) this.#words[word + 1] = value >>> (32 - shift);
    this.#at += width;
  }

  bit(value: boolean): void {
    this.put(value ? 1 : 0, 1);
  }

  /** Writes an integer from 0 to 2⁵³ − 1: the number of its bits, then these. */
  count(value: number): void {
    const high = Math.floor(value / 2 ** 32);
    const low = value >>> 0;
    const width = high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(low);
    this.put(width, 6);
    this.put(low, Math.min(width, 32));
    if (high > 0) this.put(high, width - 32);
  }

  f32(value: number): void {
    FLOAT[0] = value;
    this.put(FLOAT_WORD[0], 32);
  }

  f64(value: number): void {
    DOUBLE[0] = value;
    this.put(DOUBLE_WORDS[0], 32);
    this.put(DOUBLE_WORDS[1], 32);
  }

  /** Writes a number as float32 if it is one. */
  double(value: number): void {
    const isFloat = Object.is(Math.fround(value), value);
    this.bit(isFloat);
    if (isFloat) this.f32(value);
    else this.f64(value);
  }

  /** Writes the hex digits of a text from this place on. */
  hex(text: string, from: number): void {
    for (let at = from; at < text.length; at += WORD_DIGITS) {
      const digits = text.slice(at, at + WORD_DIGITS);
      this.put(Number.parseInt(digits, 16), 4 * digits.length);
    }
  }

  /** Writes integers from 0 to 2³² − 1, each in as many bits as the largest of them needs. */
  integers(values: readonly number[]): void {
    let any = 0;
    for (const value of values) any |= value;
    const width = 32 - Math.clz32(any);
    this.count(values.length);
    this.put(width, 6);
    for (const value of values) this.put(value, width);
  }

  /** Writes the first `count` words, 32 bits each. */
  words(words: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) this.put(words[i], 32);
  }

  /**
   * Writes the first `count` of the bits of numbers: of few different ones these, then which of them each is. They have one of two
   * forms, whichever is the shorter:
   *
   *   range    how far each is from the least of them, with its sign last
   *   spread   how far its exponent is from the largest, as in `near`, then mantissa and sign: where some are far smaller than others
   */
  numbers(numbers: Uint32Array, count: number): void {
    const different = count < FEW_FROM ? 0 : DIFFERENT.find(numbers, count);
    this.bit(different > 0);
    if (different === 0) {
      this.#plain(numbers, count);
      return;
    }
    const { values, indices } = DIFFERENT;
    const width = 32 - Math.clz32(different - 1);
    this.put(different, DIFFERENT_BITS);
    this.#plain(values, different);
    for (let i = 0; i < count; i++) this.put(indices[i], width);
  }

  #plain(numbers: Uint32Array, count: number): void {
    let [least, most, signs, mantissas, highest, exponents] = [0xffffffff, 0, 0, 0, 0, 0];
    for (let i = 0; i < count; i++) {
      const number = numbers[i];
      const word = signLast(number);
      if (word < least) least = word;
      if (word > most) most = word;
      const exponent = (number >>> MANTISSA_BITS) & MOST_EXPONENT;
      if (exponent > highest) highest = exponent;
      exponents += exponent;
      signs |= number >>> 31;
      mantissas |= number & MANTISSA;
    }
    const width = count === 0 ? 0 : 32 - Math.clz32(most - least);
    const fraction = mantissas === 0 ? 0 : MANTISSA_BITS;
    // About as many usual bits as a mean gap has.
    const gap = (count * highest - exponents) / Math.max(1, count);
    const usual = Math.min(MOST_USUAL_GAP, 31 - Math.clz32(1 + (2 * gap) / 3));
    const gaps = countedGaps(numbers, count, highest, usual);
    const isSpread = SPREAD_BITS + gaps + count * (signs + fraction) < RANGE_BITS + count * width;
    this.bit(isSpread);
    if (isSpread) this.#spread(numbers, count, { highest, usual, signs, fraction });
    else this.#range(numbers, count, least, width);
  }

  #range(numbers: Uint32Array, count: number, least: number, width: number): void {
    this.put(width, 6);
    this.put(least, 32);
    this.#room(count * width);
    const out = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++, at += width) {
      const value = (signLast(numbers[i]) - least) >>> 0;
      const shift = at & 31;
      out[at >>> 5] |= value << shift;
      if (shift + width > 32) out[(at >>> 5) + 1] = value >>> (32 - shift);
    }
    this.#at = at;
  }

  #spread(numbers: Uint32Array, count: number, { highest, usual, signs, fraction }: Spread): void {
    this.put(highest, EXPONENT_BITS);
    this.put(usual, USUAL_GAP_BITS);
    this.put(signs, 1);
    this.bit(fraction > 0);
    this.#room(count * (2 * EXPONENT_BITS + 32));
    const width = signs + fraction;
    const out = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      const number = numbers[i];
      const value = highest - ((number >>> MANTISSA_BITS) & MOST_EXPONENT) + (1 << usual);
      const rest = 31 - Math.clz32(value);
      // The ones, the 0 that ends them, and the lower bits of the value: at most 17 bits.
      const more = rest - usual;
      const gap = ((1 << more) - 1) | ((value - (1 << rest)) << (more + 1));
      const gapWidth = more + 1 + rest;
      out[at >>> 5] |= gap << (at & 31);
      if ((at & 31) + gapWidth > 32) out[(at >>> 5) + 1] = gap >>> (32 - (at & 31));
      at += gapWidth;
      const low = fraction === 0 ? 0 : number & MANTISSA;
      const word = signs === 0 ? low : low * 2 + (number >>> 31);
      out[at >>> 5] |= word << (at & 31);
      if ((at & 31) + width > 32) out[(at >>> 5) + 1] = word >>> (32 - (at & 31));
      at += width;
    }
    this.#at = at;
  }

  /**
   * Writes `count` integers from 0 to 2²⁴ − 1, each in about as many bits as it has, if it has some `usual` ones: the exponential Golomb
   * code (Teuhola 1978). One of b bits more has b ones before it, and 0 ends them.
   */
  near(words: Uint32Array, count: number, usual: number): void {
    this.#room(count * 56);
    const out = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      const value = words[i] + (1 << usual);
      const width = 31 - Math.clz32(value);
      const more = width - usual;
      out[at >>> 5] |= ((1 << more) - 1) << (at & 31);
      if ((at & 31) + more > 32) out[(at >>> 5) + 1] = ((1 << more) - 1) >>> (32 - (at & 31));
      at += more + 1;
      const rest = value - (1 << width);
      out[at >>> 5] |= rest << (at & 31);
      if ((at & 31) + width > 32) out[(at >>> 5) + 1] = rest >>> (32 - (at & 31));
      at += width;
    }
    this.#at = at;
  }

  /** Writes numbers bit for bit; those that are integers of 16 bits on one scale, a power of two, by these. */
  vector(values: Float32Array): void {
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    this.count(bits.length);
    const scale = FIXED.find(values, bits);
    this.bit(scale !== null);
    if (scale === null) {
      this.numbers(bits, bits.length);
      return;
    }
    const usual = usualBits(FIXED.words, bits.length);
    this.put(scale, FIXED_SCALE_BITS);
    this.put(usual, USUAL_BITS);
    this.near(FIXED.words, bits.length, usual);
  }

  /** Writes numbers bit for bit, of which many are 0. */
  floats(values: Float32Array): void {
    const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
    const others = new Uint32Array(words.length);
    let count = 0;
    this.count(words.length);
    for (let i = 0; i < words.length; i++) {
      this.bit(words[i] !== 0);
      if (words[i] !== 0) others[count++] = words[i];
    }
    this.numbers(others, count);
  }

  /** Writes numbers bit for bit, each as float32 if it is one. */
  doubles(values: readonly number[]): void {
    this.count(values.length);
    for (const value of values) this.double(value);
  }

  terms({ terms, weights }: SparseVector): void {
    this.count(terms.length);
    this.words(terms, terms.length);
    this.vector(weights);
  }

  #room(bits: number): void {
    const needed = ((this.#at + bits) >>> 5) + 2;
    if (needed <= this.#words.length) return;
    const longer = new Uint32Array(Math.max(needed, 2 * this.#words.length));
    longer.set(this.#words);
    this.#words = longer;
  }
}

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
      const shift = at & 31;
      let index = from[at >>> 5] >>> shift;
      if (shift + width > 32) index |= from[(at >>> 5) + 1] << (32 - shift);
      numbers[i] = values[index & mask];
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
      const shift = at & 31;
      let value = from[at >>> 5] >>> shift;
      if (shift + width > 32) value |= from[(at >>> 5) + 1] << (32 - shift);
      numbers[i] = signFirst(least + (value & mask));
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
      const shift = at & 31;
      const low = from[at >>> 5] >>> shift;
      // Two shifts, since one of 32 bits is none at all.
      const window = low | ((from[(at >>> 5) + 1] << 1) << (31 - shift));
      const ones = onesOf(window);
      const rest = ones + usual;
      const gap = ((window >>> (ones + 1)) & ((1 << rest) - 1)) + (1 << rest) - (1 << usual);
      const gapWidth = ones + 1 + rest;
      at += gapWidth;
      let word = window >>> gapWidth;
      if (gapWidth + width > 32) {
        word = from[at >>> 5] >>> (at & 31);
        if ((at & 31) + width > 32) word |= from[(at >>> 5) + 1] << (32 - (at & 31));
      }
      word &= mask;
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
      const shift = at & 31;
      const low = from[at >>> 5] >>> shift;
      const window = low | ((from[(at >>> 5) + 1] << 1) << (31 - shift));
      const ones = onesOf(window);
      const width = usual + ones;
      at += ones + 1;
      let value = window >>> (ones + 1);
      if (ones + 1 + width > 32) {
        value = from[at >>> 5] >>> (at & 31);
        if ((at & 31) + width > 32) value |= from[(at >>> 5) + 1] << (32 - (at & 31));
      }
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

/** Hex digits of a word. */
const WORD_DIGITS = 8;
const EXPONENT_BITS = 8;
const MOST_EXPONENT = 0xff;
const MANTISSA_BITS = 23;
const MANTISSA = 0x7fffff;
const USUAL_GAP_BITS = 2;
const MOST_USUAL_GAP = 3;
/** Of what stands before the numbers. */
const RANGE_BITS = 6 + 32;
const SPREAD_BITS = EXPONENT_BITS + USUAL_GAP_BITS + 2;
/** Of the number of different ones. */
const DIFFERENT_BITS = 6;
const FEW_FROM = 8;
/** Where the first ones are all different, so will the others be. */
const SAMPLE = 12;
/** Of the number of bits that an integer usually has. */
const USUAL_BITS = 5;
/** Of the exponent of the largest of numbers with a fixed point. */
const FIXED_SCALE_BITS = 8;
const FIXED_BITS = 15;
/** Zeros and what is all alike take no bits, but a list of a thousand for each word is no list. */
const MOST_PER_WORD = 1024;
/** So many numbers are 4 MB: columns that are the same take but their index, however long they are. */
const QUICKLY_ALLOCATED = 2 ** 20;

interface Spread {
  readonly highest: number;
  readonly usual: number;
  /** 1: there are negative ones. */
  readonly signs: number;
  /** Bits of the mantissas; 0: all are powers of two. */
  readonly fraction: number;
}

/** Returns how many bits the gaps between exponents and the largest take, written as in `near`. */
function countedGaps(numbers: Uint32Array, count: number, highest: number, usual: number): number {
  let bits = 0;
  for (let i = 0; i < count; i++) {
    const value = highest - ((numbers[i] >>> MANTISSA_BITS) & MOST_EXPONENT) + (1 << usual);
    bits += 2 * (31 - Math.clz32(value)) - usual + 1;
  }
  return bits;
}

/** Returns how many usual bits make these integers short in `near`. */
export function usualBits(words: Uint32Array, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += 32 - Math.clz32(words[i]);
  return Math.max(0, Math.round(sum / Math.max(1, count)) - 1);
}

/** Returns how many of the lowest bits are ones, up to the first 0. */
function onesOf(word: number): number {
  const zeros = ~word;
  return zeros === 0 ? 32 : 31 - Math.clz32(zeros & -zeros);
}

/** Memory for the different ones among numbers. */
class Different {
  readonly values = new Uint32Array((1 << DIFFERENT_BITS) - 1);
  indices = new Uint8Array(256);

  /** Returns how many different ones there are; 0: too many. */
  find(numbers: Uint32Array, count: number): number {
    const { values } = this;
    if (this.indices.length < count) this.indices = new Uint8Array(count);
    const most = Math.min(values.length, count >>> 1); // else their indices take what they save
    let found = 0;
    for (let i = 0; i < count; i++) {
      const number = numbers[i];
      let index = 0;
      while (index < found && values[index] !== number) index++;
      if (index === found) {
        if (found === most || (found === SAMPLE && i === SAMPLE)) return 0;
        values[found++] = number;
      }
      this.indices[i] = index;
    }
    return found;
  }
}

const DIFFERENT = new Different();

/** Memory for numbers with a fixed point. */
class Fixed {
  words = new Uint32Array(256);

  /** Returns the scale on which these are integers of 16 bits, and makes them such with their sign last; null: there is none. */
  find(values: Float32Array, bits: Uint32Array): number | null {
    const { length } = values;
    const scale = fixedScale(values);
    if (scale === null) return null;
    if (this.words.length < length) this.words = new Uint32Array(length);
    const unit = fixedUnit(scale);
    for (let i = 0; i < length; i++) {
      const integer = values[i] / unit;
      // −0 is none of them.
      if (!Number.isInteger(integer) || bits[i] === 0x80000000) return null;
      this.words[i] = ((integer << 1) ^ (integer >> 31)) >>> 0;
    }
    return scale;
  }
}

const FIXED = new Fixed();

const FLOAT = new Float32Array(1);
const FLOAT_WORD = new Uint32Array(FLOAT.buffer);
const DOUBLE = new Float64Array(1);
const DOUBLE_WORDS = new Uint32Array(DOUBLE.buffer);

/** Returns the bits of a number with its sign last, so that numbers of like size are near each other. */
export function signLast(bits: number): number {
  return ((bits << 1) | (bits >>> 31)) >>> 0;
}

/** Makes of a word with the sign last the bits of a number again. */
export function signFirst(word: number): number {
  return ((word >>> 1) | (word << 31)) >>> 0;
}

/** Returns the exponent of the largest of these, as float32 keeps it; null: they are so small, or so large, that nothing is on their scale. */
function fixedScale(values: Float32Array): number | null {
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i]);
    if (!(size <= largest)) largest = size;
  }
  FLOAT[0] = largest;
  const exponent = FLOAT_WORD[0] >>> MANTISSA_BITS;
  return exponent > FIXED_BITS && exponent < MOST_EXPONENT ? exponent : null;
}

/** Returns what one of the integers stands for: the largest of them have 15 bits beside the sign. */
function fixedUnit(scale: number): number {
  FLOAT_WORD[0] = (scale - (FIXED_BITS - 1)) << MANTISSA_BITS;
  return FLOAT[0];
}
