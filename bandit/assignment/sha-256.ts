/**
 * SHA-256 (FIPS 180-4) of text, incremental. It is here, and not `node:crypto`, because the core imports nothing
 * and because the state after a first block can be kept: one compression per unit instead of two.
 */
export class Sha256 {
  readonly #state = new Int32Array(8);
  /** The message schedule; its first 16 words are the block that is being filled. */
  readonly #words = new Int32Array(64);
  #bytes = 0;

  constructor() {
    this.reset();
  }

  reset(): this {
    this.#state.set(INITIAL);
    this.#bytes = 0;
    return this;
  }

  writeByte(byte: number): this {
    const place = this.#bytes & 63;
    const words = this.#words;
    // Shifting in from the right: after four bytes whatever stood in the word before has been pushed out.
    words[place >> 2] = (words[place >> 2] << 8) | byte;
    this.#bytes += 1;
    if (place === 63) compress(this.#state, words);
    return this;
  }

  /** UTF-8. A surrogate without its partner becomes U+FFFD, as in the Encoding standard. */
  writeText(text: string): this {
    for (let i = 0; i < text.length; i++) {
      let code = text.charCodeAt(i);
      if (code < 0x80) {
        this.writeByte(code);
      } else if (code < 0x800) {
        this.writeByte(0xc0 | (code >> 6)).writeByte(0x80 | (code & 63));
      } else if (code >= 0xd800 && code < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) {
        i += 1;
        code = 0x10000 + ((code - 0xd800) << 10) + (text.charCodeAt(i) - 0xdc00);
        this.writeByte(0xf0 | (code >> 18)).writeByte(0x80 | ((code >> 12) & 63));
        this.writeByte(0x80 | ((code >> 6) & 63)).writeByte(0x80 | (code & 63));
      } else {
        if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
        this.writeByte(0xe0 | (code >> 12)).writeByte(0x80 | ((code >> 6) & 63));
        this.writeByte(0x80 | (code & 63));
      }
    }
    return this;
  }

  writeWord(word: number): this {
    return this.writeByte(word >>> 24)
      .writeByte((word >>> 16) & 255)
      .writeByte((word >>> 8) & 255)
      .writeByte(word & 255);
  }

  /** Pads and ends the message. The eight words of the digest, first word first; `reset` before the next message. */
  digest(): Int32Array {
    const bytes = this.#bytes;
    this.writeByte(0x80);
    while ((this.#bytes & 63) !== 56) this.writeByte(0);
    // The length in bits as 64 bits: bytes·8 may need more than 32 of them.
    this.writeWord(Math.floor(bytes / 0x20000000)).writeWord((bytes << 3) | 0);
    return this.#state;
  }

  /** Takes over the other's message so far, which must end at a block (a multiple of 64 bytes). */
  continueFrom(blocks: Sha256): this {
    this.#state.set(blocks.#state);
    this.#bytes = blocks.#bytes;
    return this;
  }
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** FIPS 180-4, section 6.2.2. */
function compress(state: Int32Array, w: Int32Array): void {
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15];
    const y = w[t - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = (w[t - 16] + s0 + w[t - 7] + s1) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let t = 0; t < 64; t++) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + sum1 + ((e & f) ^ (~e & g)) + ROUND[t] + w[t]) | 0;
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** Section 5.3.3: the first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const INITIAL: readonly number[] = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** Section 4.2.2: the same of the cube roots of the first 64 primes. */
const ROUND = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]);
