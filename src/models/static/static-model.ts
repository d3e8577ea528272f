import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { UnusableModelError } from '../embedder.ts';
import { WordPieces } from './word-pieces.ts';

/** The file of a static model in its folder. */
export const STATIC_MODEL_FILE = 'static-model.bin';

const MAGIC = 'bandstat';
const VERSION = 1;
const HEADER_BYTES = 28;
/** Tokens that are read of a text, as in training: 512 less the two marks around it, which have no vector. */
const MOST_TOKENS = 510;
/** Shorter sums stay as they are, so that a text without known tokens has no direction. */
const LEAST_LENGTH = 1e-9;

/**
 * A static embedding model: the vector of a text is the sum of the vectors of its tokens, normalised. Each token has a row of
 * int8 and one scale. Synchronous: a usual query takes some microseconds.
 *
 * Its file, little-endian: `bandstat`, version u32, dimensions D u32, tokens T u32, bytes of the vocabulary V u32, CRC-32 of all
 * that follows u32; T scales float32; T × D int8, row by row; the tokens in UTF-8, in the order of their ids, joined by line
 * feeds. `models/train/pack.py` writes it.
 */
export class StaticModel {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly #scales: Float32Array;
  readonly #table: Int8Array;
  readonly #pieces: WordPieces;
  readonly #ids = new Int32Array(MOST_TOKENS);
  readonly #sum: Float64Array;

  private constructor(
    bytes: Buffer,
    dimensions: number,
    scales: Float32Array,
    table: Int8Array,
    pieces: WordPieces,
  ) {
    this.dimensions = dimensions;
    this.fingerprint = createHash('sha256').update('static 1').update(bytes).digest('hex').slice(0, 32);
    this.#scales = scales;
    this.#table = table;
    this.#pieces = pieces;
    this.#sum = new Float64Array(dimensions);
  }

  /** @throws UnusableModelError */
  static async read(file: string): Promise<StaticModel> {
    const bytes = await readFile(file).catch((error: Error) => {
      throw new UnusableModelError(`${file} cannot be read (${error.message}).`);
    });
    return StaticModel.parse(bytes, file);
  }

  /** @param file what to call it in errors. @throws UnusableModelError */
  static parse(bytes: Buffer, file: string): StaticModel {
    const fail = (what: string): never => {
      throw new UnusableModelError(`${file} ${what}`);
    };
    if (bytes.length < HEADER_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      fail('is no static model: fetch it again, or pack it with models/train/pack.py.');
    }
    const [version, dimensions, count, vocabularyBytes, checksum] = [8, 12, 16, 20, 24].map((at) =>
      bytes.readUInt32LE(at),
    );
    if (version !== VERSION) {
      fail(
        `has version ${version} of the format, and this is a bandolier for version ${VERSION}: install one that fits it.`,
      );
    }
    const tableAt = HEADER_BYTES + 4 * count;
    const vocabularyAt = tableAt + count * dimensions;
    if (bytes.length !== vocabularyAt + vocabularyBytes || crc32(bytes.subarray(HEADER_BYTES)) !== checksum) {
      fail('is damaged (its length or its checksum is wrong): fetch it again.');
    }
    const scales = Float32Array.from({ length: count }, (_, id) => bytes.readFloatLE(HEADER_BYTES + 4 * id));
    const table = new Int8Array(bytes.buffer, bytes.byteOffset + tableAt, count * dimensions);
    const vocabulary = bytes.toString('utf8', vocabularyAt).split('\n');
    if (vocabulary.length !== count)
      fail(`has ${count} rows for ${vocabulary.length} tokens: pack it again.`);
    try {
      return new StaticModel(bytes, dimensions, scales, table, new WordPieces(vocabulary));
    } catch (error) {
      return fail(`has a vocabulary that cannot be used: ${(error as Error).message}.`);
    }
  }

  /** Returns the vector of a text: of unit length, or all zero if it has no known token. */
  embed(text: string): Float32Array {
    return unitVector(this.#sumOfTokens(this.#pieces.write(text, this.#ids)));
  }

  #sumOfTokens(count: number): Float64Array {
    const sum = this.#sum.fill(0);
    let token = 0;
    // Four rows at a time: the sum is read and written a quarter as often.
    for (; token + 3 < count; token += 4) addFour(sum, this.#table, this.#scales, this.#ids, token);
    for (; token < count; token++) addOne(sum, this.#table, this.#scales, this.#ids[token]);
    return sum;
  }
}

/** Adds the rows of four tokens. The engine makes faster code of a loop that is a function of its own. */
function addFour(
  sum: Float64Array,
  table: Int8Array,
  scales: Float32Array,
  ids: Int32Array,
  first: number,
): void {
  const a = scales[ids[first]];
  const b = scales[ids[first + 1]];
  const c = scales[ids[first + 2]];
  const d = scales[ids[first + 3]];
  const rowA = ids[first] * sum.length;
  const rowB = ids[first + 1] * sum.length;
  const rowC = ids[first + 2] * sum.length;
  const rowD = ids[first + 3] * sum.length;
  for (let at = 0; at < sum.length; at++) {
    sum[at] += a * table[rowA + at] + b * table[rowB + at] + c * table[rowC + at] + d * table[rowD + at];
  }
}

function addOne(sum: Float64Array, table: Int8Array, scales: Float32Array, id: number): void {
  const scale = scales[id];
  const row = id * sum.length;
  for (let at = 0; at < sum.length; at++) sum[at] += scale * table[row + at];
}

function unitVector(sum: Float64Array): Float32Array {
  let squares = 0;
  for (let at = 0; at < sum.length; at++) squares += sum[at] * sum[at];
  const length = Math.max(Math.sqrt(squares), LEAST_LENGTH);
  const vector = new Float32Array(sum.length);
  for (let at = 0; at < sum.length; at++) vector[at] = sum[at] / length;
  return vector;
}
