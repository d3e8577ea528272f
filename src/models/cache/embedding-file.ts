import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** First bytes of every file, then the dimensions as u32. */
const MAGIC = Buffer.from('bandvec1');
const HEADER_BYTES = MAGIC.length + 4;
const KEY_BYTES = 16;
const CHUNK_BYTES = 1 << 20;

/** Returns the key of a text: the first 128 bits of its SHA-256, in hex. */
export function textKey(text: string): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * KEY_BYTES);
}

export interface KeyedRecord {
  readonly key: string;
  readonly record: number;
}

/** Records that are at most so far apart are read together. */
const NEAR = 16;

/**
 * A file of vectors by text key. A record is [crc32 u32][key 16 bytes][D × float32 in the byte order of the machine], with the
 * checksum over key and vector. All records have one length, so that the one after a damaged one can be read.
 */
export class EmbeddingFile {
  readonly #handle: FileHandle;
  readonly #dimensions: number;
  #records: number;

  private constructor(handle: FileHandle, dimensions: number, records: number) {
    this.#handle = handle;
    this.#dimensions = dimensions;
    this.#records = records;
  }

  /** Opens or creates a file. A file of other dimensions is emptied; a torn tail is cut off. */
  static async open(path: string, dimensions: number): Promise<EmbeddingFile> {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT);
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    header.writeUInt32LE(dimensions, MAGIC.length);
    const { size } = await handle.stat();
    const found = Buffer.alloc(HEADER_BYTES);
    await handle.read(found, 0, HEADER_BYTES, 0);
    if (size >= HEADER_BYTES && found.equals(header)) {
      const records = Math.floor((size - HEADER_BYTES) / recordBytes(dimensions));
      return new EmbeddingFile(handle, dimensions, records);
    }
    await handle.truncate(0);
    await handle.write(header, 0, HEADER_BYTES, 0);
    return new EmbeddingFile(handle, dimensions, 0);
  }

  /** Number of records in the file, damaged ones included. */
  get length(): number {
    return this.#records;
  }

  /** Yields the keys of the intact records with their numbers, in the order of writing. */
  async *keys(): AsyncIterable<readonly [key: string, record: number]> {
    const bytes = recordBytes(this.#dimensions);
    const perChunk = Math.max(1, Math.floor(CHUNK_BYTES / bytes));
    for (let first = 0; first < this.#records; first += perChunk) {
      const count = Math.min(perChunk, this.#records - first);
      const chunk = Buffer.alloc(count * bytes);
      await this.#handle.read(chunk, 0, chunk.length, this.#position(first));
      for (let at = 0; at < count; at++) {
        const record = chunk.subarray(at * bytes, (at + 1) * bytes);
        if (isSound(record)) yield [record.toString('hex', 4, 4 + KEY_BYTES), first + at];
      }
    }
  }

  /** Returns the vectors of these records; null for one that is damaged or has another key. */
  async read(wanted: readonly KeyedRecord[]): Promise<(Float32Array | null)[]> {
    const vectors: (Float32Array | null)[] = wanted.map(() => null);
    const bytes = recordBytes(this.#dimensions);
    for (const run of runsOf(wanted, Math.max(1, Math.floor(CHUNK_BYTES / bytes)))) {
      const first = wanted[run[0]].record;
      const chunk = Buffer.alloc((wanted[run[run.length - 1]].record - first + 1) * bytes);
      await this.#handle.read(chunk, 0, chunk.length, this.#position(first));
      for (const at of run) {
        const { record, key } = wanted[at];
        vectors[at] = decode(chunk.subarray((record - first) * bytes, (record - first + 1) * bytes), key);
      }
    }
    return vectors;
  }

  /** Appends records and returns the number of the first. If it throws, nothing was appended. */
  async append(entries: readonly (readonly [key: string, vector: Float32Array])[]): Promise<number> {
    const length = recordBytes(this.#dimensions);
    const bytes = Buffer.alloc(entries.length * length);
    for (const [at, [key, vector]] of entries.entries()) {
      const record = bytes.subarray(at * length, (at + 1) * length);
      record.write(key, 4, 'hex');
      record.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), 4 + KEY_BYTES);
      record.writeUInt32LE(crc32(record.subarray(4)), 0);
    }
    const first = this.#records;
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(
        bytes,
        done,
        bytes.length - done,
        this.#position(first) + done,
      );
      done += bytesWritten;
    }
    this.#records += entries.length;
    return first;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #position(record: number): number {
    return HEADER_BYTES + record * recordBytes(this.#dimensions);
  }
}

function recordBytes(dimensions: number): number {
  return 4 + KEY_BYTES + 4 * dimensions;
}

/** Returns the indices of `wanted` in the order of their records, in runs of at most `most` records without wide gaps. */
function runsOf(wanted: readonly KeyedRecord[], most: number): number[][] {
  const order = [...wanted.keys()].sort((a, b) => wanted[a].record - wanted[b].record);
  const runs: number[][] = [];
  for (const at of order) {
    const run = runs[runs.length - 1];
    const { record } = wanted[at];
    const joins =
      run !== undefined &&
      record - wanted[run[run.length - 1]].record <= NEAR &&
      record - wanted[run[0]].record < most;
    if (joins) run.push(at);
    else runs.push([at]);
  }
  return runs;
}

function decode(record: Buffer, key: string): Float32Array | null {
  if (!isSound(record) || record.toString('hex', 4, 4 + KEY_BYTES) !== key) return null;
  const bytes = Uint8Array.from(record.subarray(4 + KEY_BYTES));
  return new Float32Array(bytes.buffer);
}

function isSound(record: Buffer): boolean {
  return crc32(record.subarray(4)) === record.readUInt32LE(0);
}
