/**
 * Finds where the records with a given key start in one segment: a hash table of 32-bit hashes and offsets, at most
 * 22 bytes per record. Keys themselves are not kept, so two keys may collide: compare the key in the record.
 */
export class KeyIndex {
  /** Hashes and offsets by slot; offset 0, which no record has, marks a free slot. */
  #hashes: Uint32Array;
  #offsets: Uint32Array;
  #size = 0;

  constructor(hashes: Uint32Array = new Uint32Array(64), offsets: Uint32Array = new Uint32Array(64)) {
    this.#hashes = hashes;
    this.#offsets = offsets;
    for (const offset of offsets) if (offset !== 0) this.#size++;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the table as it is stored, which the constructor takes. */
  get table(): { readonly hashes: Uint32Array; readonly offsets: Uint32Array } {
    return { hashes: this.#hashes, offsets: this.#offsets };
  }

  /** Adds a record; a key may be added several times. @param offset 1 … 2³² − 1 */
  add(key: string, offset: number): void {
    if ((this.#size + 1) * 4 > this.#hashes.length * 3) this.#grow();
    this.#insert(hashOf(key), offset);
    this.#size++;
  }

  /** Yields the offsets of all records with this key, and rarely of another one, newest first. */
  find(key: string): number[] {
    const hash = hashOf(key);
    const mask = this.#hashes.length - 1;
    const found: number[] = [];
    for (let slot = hash & mask; this.#offsets[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash) found.push(this.#offsets[slot]);
    }
    return found.sort((a, b) => b - a);
  }

  #insert(hash: number, offset: number): void {
    const mask = this.#hashes.length - 1;
    let slot = hash & mask;
    while (this.#offsets[slot] !== 0) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#offsets[slot] = offset;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const offsets = this.#offsets;
    this.#hashes = new Uint32Array(hashes.length * 2);
    this.#offsets = new Uint32Array(offsets.length * 2);
    for (let slot = 0; slot < offsets.length; slot++) {
      if (offsets[slot] !== 0) this.#insert(hashes[slot], offsets[slot]);
    }
  }
}

/** FNV-1a over UTF-16 units, its bits mixed once more because the table uses the lowest ones. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x7feb352d);
  return (hash ^ (hash >>> 15)) >>> 0;
}
