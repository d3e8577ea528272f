/** Everybody falls into one of this many buckets, so a share is a number of buckets: a basis point each. */
export const BUCKETS = 10_000;

/** SHA-256 of these parts, one after the other; text counts as UTF-8. The caller brings it: Node has one. */
export type Sha256 = (...parts: readonly (string | Uint8Array)[]) => Uint8Array;

/** What is being divided: a layer between its experiments, or an experiment between its variants. */
export type Division = 'layer' | 'experiment';

/**
 * Unit → bucket, version 1. Published: whoever follows these lines in any language gets the same buckets.
 *
 *     header = UTF-8("bandolier-assignment-1") 00 UTF-8(division) 00 UTF-8(salt)
 *     block  = SHA-256(header), 32 bytes, then 32 zero bytes
 *     h      = the first 4 bytes of SHA-256(block, UTF-8(unit)), big-endian
 *     bucket = floor(h · 10000 / 2³²)
 *
 * Buckets differ in size by one part in 400,000. Golden values: tests/golden/assignment.json.
 */
export class Bucketer {
  readonly #sha256: Sha256;
  readonly #block = new Uint8Array(64);

  /** @param salt what tells this layer or experiment from every other one; another salt is a new shuffle. */
  constructor(division: Division, salt: string, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#block.set(sha256(`${VERSION}\0${division}\0`, salt));
  }

  /** 0 … 9999. The same unit always falls into the same bucket. */
  bucket(unit: string): number {
    const [a, b, c, d] = this.#sha256(this.#block, unit);
    const first = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
    return Math.floor((first * BUCKETS) / 0x1_0000_0000);
  }
}

const VERSION = 'bandolier-assignment-1';
