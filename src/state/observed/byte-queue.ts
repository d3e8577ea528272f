import { ByteCells } from './byte-cells.ts';

const FIRST_CAPACITY = 64;

/**
 * Keeps byte strings that begin with a key, in the order in which their keys were first added, and finds them by key. They are
 * removed from the front. No key is the beginning of another one. Each string needs about 24 bytes beside its own.
 */
export class ByteQueue {
  readonly #cells = new ByteCells();
  /** A ring: address and hash of each, the oldest at `#head`. */
  #addresses = new Uint32Array(FIRST_CAPACITY);
  #hashes = new Uint32Array(FIRST_CAPACITY);
  /** Hash table with twice the room of the ring: index in the ring + 1, or 0. */
  #table = new Uint32Array(2 * FIRST_CAPACITY);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the bytes with this key, not a copy; valid until anything is put or dropped. */
  get(key: Uint8Array): Buffer | undefined {
    const index = this.#find(key, hashOf(key));
    return index < 0 ? undefined : this.#cells.get(this.#addresses[index]);
  }

  /** Puts `bytes`, which begin with their key, instead of what has this key, or at the end. */
  put(key: Uint8Array, bytes: Uint8Array): void {
    const hash = hashOf(key);
    let index = this.#find(key, hash);
    if (index >= 0) this.#cells.remove(this.#addresses[index]);
    else index = this.#append(hash);
    this.#addresses[index] = this.#cells.add(bytes);
  }

  /** Returns the oldest bytes of a queue that is not empty; no copy, as above. */
  oldest(): Buffer {
    return this.#cells.get(this.#addresses[this.#head]);
  }

  dropOldest(): void {
    this.#cells.remove(this.#addresses[this.#head]);
    this.#shift();
  }

  moveOldestToEnd(): void {
    const address = this.#addresses[this.#head];
    const hash = this.#hashes[this.#head];
    this.#shift();
    this.#addresses[this.#append(hash)] = address;
  }

  /** Yields all byte strings from the oldest to the newest. */
  *[Symbol.iterator](): Generator<Buffer> {
    for (let i = 0; i < this.#size; i++) yield this.#cells.get(this.#addresses[this.#indexOf(i)]);
  }

  /** Index in the ring of the i-th oldest. Capacities are powers of two. */
  #indexOf(i: number): number {
    return (this.#head + i) & (this.#addresses.length - 1);
  }

  #find(key: Uint8Array, hash: number): number {
    const mask = this.#table.length - 1;
    for (let at = hash & mask; this.#table[at] !== 0; at = (at + 1) & mask) {
      const index = this.#table[at] - 1;
      if (this.#hashes[index] !== hash) continue;
      const bytes = this.#cells.get(this.#addresses[index]);
      if (bytes.length >= key.length && bytes.compare(key, 0, key.length, 0, key.length) === 0) return index;
    }
    return -1;
  }

  #append(hash: number): number {
    if (this.#size === this.#addresses.length) this.#grow();
    const index = this.#indexOf(this.#size++);
    this.#hashes[index] = hash;
    this.#link(index);
    return index;
  }

  #shift(): void {
    this.#unlink(this.#head);
    this.#head = this.#indexOf(1);
    this.#size--;
  }

  #grow(): void {
    const capacity = 2 * this.#addresses.length;
    this.#addresses = unrolled(this.#addresses, this.#head, capacity);
    this.#hashes = unrolled(this.#hashes, this.#head, capacity);
    this.#table = new Uint32Array(2 * capacity);
    this.#head = 0;
    for (let index = 0; index < this.#size; index++) this.#link(index);
  }

  #link(index: number): void {
    const mask = this.#table.length - 1;
    let at = this.#hashes[index] & mask;
    while (this.#table[at] !== 0) at = (at + 1) & mask;
    this.#table[at] = index + 1;
  }

  /** Moves later entries up, so that a search that starts at a hash meets no gap before its entry. */
  #unlink(index: number): void {
    const mask = this.#table.length - 1;
    let gap = this.#hashes[index] & mask;
    while (this.#table[gap] !== index + 1) gap = (gap + 1) & mask;
    for (let at = (gap + 1) & mask; this.#table[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hashes[this.#table[at] - 1] & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      this.#table[gap] = this.#table[at];
      gap = at;
    }
    this.#table[gap] = 0;
  }
}

/** The ring laid out from its head, in an array with this room. */
function unrolled(ring: Uint32Array, head: number, capacity: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(capacity);
  longer.set(ring.subarray(head));
  longer.set(ring.subarray(0, head), ring.length - head);
  return longer;
}

/** FNV-1a, and the last step of MurmurHash3 so that the lower bits depend on all of it. */
function hashOf(key: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key[i], 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
