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

  /** Writes integers from 0 to 2³² − 1, each in as many bits as the largest of them needs. */
  integers(values: readonly number[]): void {
    let any = 0;
    for (const value of values) any |= value;
    const width = 32 - Math.clz32(any);
    this.count(values.length);
    this.put(width, 6);
    for (const value of values) this.put(value, width);
  }

  /**
   * Writes the first `count` of the bits of numbers, with their sign last, by how far they are from the least of them.
   * @param width bits of the farthest
   */
  range(numbers: Uint32Array, count: number, least: number, width: number): void {
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

  /** Writes numbers bit for bit, none of which is much smaller than the others, whatever their sign. */
  vector(values: Float32Array): void {
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    let [least, most] = [0xffffffff, 0];
    for (let i = 0; i < bits.length; i++) {
      const word = signLast(bits[i]);
      if (word < least) least = word;
      if (word > most) most = word;
    }
    this.count(bits.length);
    this.range(bits, bits.length, least, bits.length === 0 ? 0 : 32 - Math.clz32(most - least));
  }

  /** Writes numbers bit for bit, of which many are 0. */
  floats(values: Float32Array): void {
    const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
    this.count(words.length);
    for (let i = 0; i < words.length; i++) {
      this.bit(words[i] !== 0);
      if (words[i] !== 0) this.put(words[i], 32);
    }
  }

  /** Writes numbers bit for bit, each as float32 if it is one. */
  doubles(values: readonly number[]): void {
    this.count(values.length);
    for (const value of values) {
      const isFloat = Object.is(Math.fround(value), value);
      this.bit(isFloat);
      if (isFloat) this.f32(value);
      else this.f64(value);
    }
  }

  terms({ terms, weights }: SparseVector): void {
    this.count(terms.length);
    for (let i = 0; i < terms.length; i++) this.put(terms[i], 32);
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

  f32(): number {
    FLOAT_WORD[0] = this.take(32);
    return FLOAT[0];
  }

  f64(): number {
    DOUBLE_WORDS[0] = this.take(32);
    DOUBLE_WORDS[1] = this.take(32);
    return DOUBLE[0];
  }

  integers(): number[] {
    const count = this.count();
    const width = this.take(6);
    const values: number[] = [];
    while (values.length < count) values.push(this.take(width) >>> 0);
    return values;
  }

  /** Reads the bits of `count` numbers. */
  range(numbers: Uint32Array, count: number): void {
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

  near(words: Uint32Array, count: number, usual: number): void {
    const from = this.#words;
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      let width = usual;
      for (; (from[at >>> 5] >>> (at & 31)) & 1; at++) width++;
      at++;
      const shift = at & 31;
      let value = from[at >>> 5] >>> shift;
      if (shift + width > 32) value |= from[(at >>> 5) + 1] << (32 - shift);
      at += width;
      words[i] = (value & ((1 << width) - 1)) + (1 << width) - (1 << usual);
    }
    this.#at = at;
  }

  vector(): Float32Array {
    const numbers = new Uint32Array(this.count());
    this.range(numbers, numbers.length);
    return new Float32Array(numbers.buffer);
  }

  floats(): Float32Array {
    const words = new Uint32Array(this.count());
    for (let i = 0; i < words.length; i++) if (this.bit()) words[i] = this.take(32);
    return new Float32Array(words.buffer);
  }

  doubles(): number[] {
    const count = this.count();
    const values: number[] = [];
    while (values.length < count) values.push(this.bit() ? this.f32() : this.f64());
    return values;
  }

  terms(): SparseVector {
    const terms = new Uint32Array(this.count());
    for (let i = 0; i < terms.length; i++) terms[i] = this.take(32);
    return { terms, weights: this.vector() };
  }
}

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
