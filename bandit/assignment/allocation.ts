/** Number of buckets. A share is a number of buckets, each of which is one basis point. */
export const BUCKETS = 10_000;

/** SHA-256 of these parts, one after the other; text counts as UTF-8. The caller passes it. */
export type Sha256 = (...parts: readonly (string | Uint8Array)[]) => Uint8Array;

/** Division of a layer between its experiments, or of an experiment between its variants. */
export type Division = 'layer' | 'experiment';

/**
 * Maps units to buckets, version 1. The mapping can be implemented in any language from these lines:
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

  /** @param salt identifies this layer or experiment; another salt gives other buckets. */
  constructor(division: Division, salt: string, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#block.set(sha256(`${VERSION}\0${division}\0`, salt));
  }

  /** Returns the bucket of a unit, 0 … 9999. The same unit always has the same bucket. */
  bucket(unit: string): number {
    const [a, b, c, d] = this.#sha256(this.#block, unit);
    const first = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
    return Math.floor((first * BUCKETS) / 0x1_0000_0000);
  }
}

const VERSION = 'bandolier-assignment-1';

/** The share of an experiment or variant, in basis points: 5000 is half. */
export interface Share {
  readonly name: string;
  readonly basisPoints: number;
}

/** Which owner has which buckets. Plain data, kept in the state, because it depends on earlier allocations. */
export interface Allocation {
  /** 1 at first, one more with every change of shares. */
  readonly version: number;
  /** Sorted, without overlap; buckets in no range have no owner. */
  readonly ranges: readonly BucketRange[];
}

export interface BucketRange {
  readonly owner: string;
  /** First bucket. */
  readonly from: number;
  /** One past the last bucket. */
  readonly to: number;
}

/**
 * Returns the first allocation: consecutive ranges in the order of the shares.
 * @throws RangeError for shares that are not whole, below 0, named twice or above 10,000 in total.
 */
export function allocate(shares: readonly Share[]): Allocation {
  checkShares(shares);
  let from = 0;
  const ranges: BucketRange[] = [];
  for (const { name, basisPoints } of shares) {
    if (basisPoints > 0) ranges.push({ owner: name, from, to: from + basisPoints });
    from += basisPoints;
  }
  return { version: 1, ranges };
}

/**
 * Returns an allocation with new shares that moves as few buckets as possible: an owner whose share falls loses its highest
 * buckets, one whose share rises gets the lowest free ones, and all others keep theirs. A share of 0 (or no share) loses all.
 * @throws RangeError as `allocate`.
 */
export function reallocate(allocation: Allocation, shares: readonly Share[]): Allocation {
  checkShares(shares);
  const wanted = new Map(shares.map(({ name, basisPoints }) => [name, basisPoints]));
  const owners = ownersOf(allocation);
  const held = new Map<string, number>();
  // In ascending order, so that the buckets beyond the new share are the highest ones.
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const owner = owners[bucket];
    if (owner === undefined) continue;
    const before = held.get(owner) ?? 0;
    if (before < (wanted.get(owner) ?? 0)) held.set(owner, before + 1);
    else owners[bucket] = undefined;
  }
  giveFreeBuckets(owners, freedBy(allocation, owners), wanted, held);
  return { version: allocation.version + 1, ranges: rangesOf(owners) };
}

/** Returns how many basis points of the traffic have another owner afterwards, or lose or get one. */
export function movedBasisPoints(before: Allocation, after: Allocation): number {
  const was = ownersOf(before);
  return ownersOf(after).reduce((moved, owner, bucket) => moved + (owner === was[bucket] ? 0 : 1), 0);
}

/** Returns the owner of every bucket, undefined for a bucket without one. */
export function ownersOf(allocation: Allocation): (string | undefined)[] {
  const owners = new Array<string | undefined>(BUCKETS).fill(undefined);
  for (const { owner, from, to } of allocation.ranges) owners.fill(owner, from, to);
  return owners;
}

/** Returns the free buckets, first those that have just lost their owner: fewer owners change then. */
function freedBy(before: Allocation, owners: readonly (string | undefined)[]): number[] {
  const was = ownersOf(before);
  const free = owners.flatMap((owner, bucket) => (owner === undefined ? [bucket] : []));
  return [...free.filter((b) => was[b] !== undefined), ...free.filter((b) => was[b] === undefined)];
}

function giveFreeBuckets(
  owners: (string | undefined)[],
  free: readonly number[],
  wanted: ReadonlyMap<string, number>,
  held: ReadonlyMap<string, number>,
): void {
  let next = 0;
  for (const [name, basisPoints] of wanted) {
    for (let missing = basisPoints - (held.get(name) ?? 0); missing > 0; missing--)
      owners[free[next++]] = name;
  }
}

function rangesOf(owners: readonly (string | undefined)[]): BucketRange[] {
  const ranges: BucketRange[] = [];
  let from = 0;
  for (let bucket = 1; bucket <= BUCKETS; bucket++) {
    if (bucket < BUCKETS && owners[bucket] === owners[from]) continue;
    const owner = owners[from];
    if (owner !== undefined) ranges.push({ owner, from, to: bucket });
    from = bucket;
  }
  return ranges;
}

function checkShares(shares: readonly Share[]): void {
  const names = new Set<string>();
  let total = 0;
  for (const { name, basisPoints } of shares) {
    if (!Number.isInteger(basisPoints) || basisPoints < 0 || basisPoints > BUCKETS) {
      throw new RangeError(
        `share of "${name}" is ${basisPoints}: give whole basis points from 0 to ${BUCKETS}`,
      );
    }
    if (names.has(name)) throw new RangeError(`"${name}" has two shares: name each one once`);
    names.add(name);
    total += basisPoints;
  }
  if (total > BUCKETS)
    throw new RangeError(`the shares add up to ${total} basis points: ${BUCKETS} is everything`);
}
