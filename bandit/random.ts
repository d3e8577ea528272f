/**
 * Philox4x32-10 is a counter-based generator (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3;
 * SC 2011). Each block of its stream is computed independently, from a key and a counter.
 */

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

/** Computes four 32-bit words from a counter of four words and a key of two, and writes them to `out`. */
export function philox4x32(counter: Uint32Array, key: Uint32Array, out: Uint32Array): void {
  let c0 = counter[0];
  let c1 = counter[1];
  let c2 = counter[2];
  let c3 = counter[3];
  let k0 = key[0];
  let k1 = key[1];
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + WEYL_0) | 0;
    k1 = (k1 + WEYL_1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** Returns the upper 32 bits of the product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const low = Math.imul(aLow, bLow) >>> 16;
  const middle = (Math.imul(aHigh, bLow) + low) >>> 0;
  const cross = (Math.imul(aLow, bHigh) + (middle & 0xffff)) >>> 0;
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (cross >>> 16)) | 0;
}

/** Uniform numbers that depend only on a key and a counter, so that any draw can be repeated. */
export interface Random {
  /** Returns the draw with this number, uniform in (0, 1): never 0, never 1. Pure: the same counter gives the same number. */
  uniform(counter: number): number;
}

/**
 * First counter of the draws of a policy. The slate uses 0 … 2³¹−1 (one per candidate), so that no draw of a
 * decision is used twice.
 */
export const POLICY_COUNTERS = 2 ** 31;

/**
 * Returns the random numbers of one decision, or of anything else that has a key. To reproduce them elsewhere:
 *   h    = FNV-1a, 64 bit, of the UTF-8 bytes of the key
 *   word = Philox4x32-10 with the key (h mod 2³², h div 2³²) and the counter (c mod 2³², c div 2³², 0, 0)
 *   n    = 2²⁶·(word₀ div 2⁵) + word₁ div 2⁶, 53 bits
 *   u    = n / 2⁵³, or 2⁻⁵⁴ when n is 0
 * `tests/golden/random.json` has values to check against.
 */
export function randomFor(key: string): Random {
  return new PhiloxRandom(key);
}

/** FNV-1a of the UTF-8 bytes (Fowler, Noll, Vo), as [lower, upper] 32 bits. */
export function hash64(text: string): readonly [number, number] {
  let low = 0x84222325;
  let high = 0xcbf29ce4;
  // Ids are ASCII, whose bytes are its codes: an encoder would take longer than all the rest.
  const bytes = isAscii(text) ? null : new TextEncoder().encode(text);
  const length = bytes?.length ?? text.length;
  for (let i = 0; i < length; i++) {
    low = (low ^ (bytes === null ? text.charCodeAt(i) : bytes[i])) >>> 0;
    // Times 2⁴⁰ + 0x1b3, modulo 2⁶⁴.
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / 2 ** 32)) >>> 0;
    low = product >>> 0;
  }
  return [low, high];
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** The key is hashed when the first number is drawn: few policies draw when they rank, and greedy slates never. */
class PhiloxRandom implements Random {
  readonly #name: string;
  #key: Uint32Array | null = null;
  /** The counter, and then what is drawn with it. */
  readonly #words = new Uint32Array(4);

  constructor(name: string) {
    this.#name = name;
  }

  uniform(counter: number): number {
    if (!Number.isSafeInteger(counter) || counter < 0) {
      throw new RangeError(`a counter is a whole number of at least 0, got ${counter}`);
    }
    this.#key ??= new Uint32Array(hash64(this.#name));
    const words = this.#words;
    words[0] = counter;
    words[1] = Math.floor(counter / 2 ** 32);
    words[2] = 0;
    words[3] = 0;
    philox4x32(words, this.#key, words);
    const bits = (words[0] >>> 5) * 2 ** 26 + (words[1] >>> 6);
    return bits === 0 ? 2 ** -54 : bits * 2 ** -53;
  }
}
