import { Sha256 } from './sha-256.ts';

/** Everybody falls into one of this many buckets, so a share is a number of buckets: a basis point each. */
export const BUCKETS = 10_000;

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
 * The block fills exactly one SHA-256 block, so its state is computed once per experiment and a unit of up to 55
 * bytes costs one compression. Buckets differ in size by one part in 400,000. Golden values:
 * tests/golden/assignment.json.
 */
export class Bucketer {
  readonly #header = new Sha256();
  readonly #hash = new Sha256();

  /** @param salt what tells this layer or experiment from every other one; another salt is a new shuffle. */
  constructor(division: Division, salt: string) {
    const header = new Sha256()
      .writeText(VERSION)
      .writeByte(0)
      .writeText(division)
      .writeByte(0)
      .writeText(salt);
    for (const word of header.digest()) this.#header.writeWord(word);
    for (let i = 0; i < 8; i++) this.#header.writeWord(0);
  }

  /** 0 … 9999. The same unit always falls into the same bucket. */
  bucket(unit: string): number {
    const first = this.#hash.continueFrom(this.#header).writeText(unit).digest()[0] >>> 0;
    return Math.floor((first * BUCKETS) / 0x1_0000_0000);
  }
}

const VERSION = 'bandolier-assignment-1';
