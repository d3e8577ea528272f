/** Bits of an integer beside its sign. */
const BITS = 15;
const MOST = 2 ** BITS - 1;
const MANTISSA_BITS = 23;
/** Of a float32 that is no number, or infinite. */
const NO_EXPONENT = 0xff;

/**
 * Returns the nearest vector whose numbers are integers of 16 bits on one scale: the power of two with which the largest of them has all
 * bits. Logs keep such a vector in half the bytes. The vector itself, where numbers are too small, infinite or none.
 */
export function toFixedPoint(vector: Float32Array): Float32Array {
  let largest = 0;
  for (let i = 0; i < vector.length; i++) {
    const size = Math.abs(vector[i]);
    if (Number.isNaN(size)) return vector;
    if (size > largest) largest = size;
  }
  const unit = unitFor(largest);
  if (unit === null) return vector;
  const fixed = new Float32Array(vector.length);
  for (let i = 0; i < vector.length; i++) {
    // Not the next power of two, with which the scale would be another one.
    const integer = Math.min(MOST, Math.max(-MOST, Math.round(vector[i] / unit)));
    fixed[i] = integer * unit + 0; // which makes 0 of −0
  }
  return fixed;
}

/** Returns what the last bit stands for. */
function unitFor(largest: number): number | null {
  const number = Float32Array.of(largest);
  const word = new Uint32Array(number.buffer);
  const exponent = word[0] >>> MANTISSA_BITS;
  if (exponent <= BITS || exponent === NO_EXPONENT) return null;
  word[0] = (exponent - (BITS - 1)) << MANTISSA_BITS;
  return number[0];
}
