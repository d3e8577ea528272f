/**
 * What BitWriter and BitReader both know of how numbers are written, and what finds the forms that make them short. The widths are part
 * of the format of everything that is kept.
 */

/** Lists of one length. */
export interface SparseVector {
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
}

/** Hex digits of a word. */
export const WORD_DIGITS = 8;
export const EXPONENT_BITS = 8;
export const MOST_EXPONENT = 0xff;
export const MANTISSA_BITS = 23;
export const USUAL_GAP_BITS = 2;
/** Of the number of different ones. */
export const DIFFERENT_BITS = 6;
/** Where the first ones are all different, so will the others be. */
const SAMPLE = 12;
/** Of the number of bits that an integer usually has. */
export const USUAL_BITS = 5;
/** Of the exponent of the largest of numbers with a fixed point. */
export const FIXED_SCALE_BITS = 8;
const FIXED_BITS = 15;

/** Returns how many usual bits make these integers short in `near`. */
export function usualBits(words: Uint32Array, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += 32 - Math.clz32(words[i]);
  return Math.max(0, Math.round(sum / Math.max(1, count)) - 1);
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

export const DIFFERENT = new Different();

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

export const FIXED = new Fixed();
export const FLOAT = new Float32Array(1);
export const FLOAT_WORD = new Uint32Array(FLOAT.buffer);
export const DOUBLE = new Float64Array(1);
export const DOUBLE_WORDS = new Uint32Array(DOUBLE.buffer);

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
export function fixedUnit(scale: number): number {
  FLOAT_WORD[0] = (scale - (FIXED_BITS - 1)) << MANTISSA_BITS;
  return FLOAT[0];
}
