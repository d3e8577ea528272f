/** Size of a unit in bytes; sizes of cells and addresses are counted in units. */
const UNIT_BYTES = 8;
const CHUNK_BYTES = 1 << 20;
const UNITS_PER_CHUNK = CHUNK_BYTES / UNIT_BYTES;
/** A longer string has its own buffer. */
const MAX_CELL_UNITS = 128;
const LENGTH_BYTES = 2;
/** Added to the index of a long one, to tell its address from that of a cell. */
const LONG = 2 ** 31;

/**
 * Keeps millions of short byte strings in a few large buffers, because an object for each would take more memory than the
 * string. A free cell is used again for the next string of its size; its first bytes hold the address of the next free cell.
 */
export class ByteCells {
  readonly #chunks: Buffer[] = [];
  /** Units in use from the beginning of the first chunk. The first unit stays empty: 0 is no address. */
  #end = 1;
  /** First free cell by size in units; 0 where there is none. */
  readonly #free = new Uint32Array(MAX_CELL_UNITS + 1);
  readonly #long: (Buffer | undefined)[] = [];
  readonly #freeLong: number[] = [];

  /** Keeps a copy and returns its address: 1 to 2³² − 1. */
  add(bytes: Uint8Array): number {
    const units = Math.ceil((LENGTH_BYTES + bytes.length) / UNIT_BYTES);
    if (units > MAX_CELL_UNITS) return this.#addLong(bytes);
    const address = this.#take(units);
    const chunk = this.#chunkOf(address);
    const at = offsetOf(address);
    chunk.writeUInt16LE(bytes.length, at);
    chunk.set(bytes, at + LENGTH_BYTES);
    return address;
  }

  /** Returns the bytes, not a copy; valid until something is added or removed. */
  get(address: number): Buffer {
    if (address >= LONG) return this.#long[address - LONG]!;
    const start = offsetOf(address) + LENGTH_BYTES;
    const chunk = this.#chunkOf(address);
    return chunk.subarray(start, start + chunk.readUInt16LE(start - LENGTH_BYTES));
  }

  remove(address: number): void {
    if (address >= LONG) {
      this.#long[address - LONG] = undefined;
      this.#freeLong.push(address - LONG);
      return;
    }
    const chunk = this.#chunkOf(address);
    const at = offsetOf(address);
    const units = Math.ceil((LENGTH_BYTES + chunk.readUInt16LE(at)) / UNIT_BYTES);
    chunk.writeUInt32LE(this.#free[units], at);
    this.#free[units] = address;
  }

  #take(units: number): number {
    const free = this.#free[units];
    if (free !== 0) {
      this.#free[units] = this.#chunkOf(free).readUInt32LE(offsetOf(free));
      return free;
    }
    const room = this.#chunks.length * UNITS_PER_CHUNK - this.#end;
    if (room < units) {
      this.#end = Math.max(1, this.#chunks.length * UNITS_PER_CHUNK);
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES));
    }
    const address = this.#end;
    this.#end += units;
    return address;
  }

  #addLong(bytes: Uint8Array): number {
    const index = this.#freeLong.pop() ?? this.#long.length;
    const own = Buffer.allocUnsafeSlow(bytes.length);
    own.set(bytes);
    this.#long[index] = own;
    return LONG + index;
  }

  #chunkOf(address: number): Buffer {
    return this.#chunks[Math.floor(address / UNITS_PER_CHUNK)];
  }
}

function offsetOf(address: number): number {
  return (address % UNITS_PER_CHUNK) * UNIT_BYTES;
}
