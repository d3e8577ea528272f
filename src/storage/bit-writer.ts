import {
  DIFFERENT,
  DIFFERENT_BITS,
  DOUBLE,
  DOUBLE_WORDS,
  EXPONENT_BITS,
  FIXED,
  FIXED_SCALE_BITS,
  FLOAT,
  FLOAT_WORD,
  MANTISSA_BITS,
  MOST_EXPONENT,
  type SparseVector,
  signLast,
  USUAL_BITS,
  USUAL_GAP_BITS,
  usualBits,
  WORD_DIGITS,
} from './number-forms.ts';

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

const MANTISSA = (1 << MANTISSA_BITS) - 1;
const MOST_USUAL_GAP = 3;
/** Of what stands before the numbers. */
const RANGE_BITS = 6 + 32;
const SPREAD_BITS = EXPONENT_BITS + USUAL_GAP_BITS + 2;
const FEW_FROM = 8;

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
