export type NumberArray = Float32Array | Float64Array | Uint32Array | Int32Array | Uint8Array;

/** JSON beside arrays of numbers, which JSON would make large, slow and, for −0 and NaN, wrong. */
export interface PackedDocument {
  readonly json: unknown;
  readonly arrays: readonly NumberArray[];
}

/**
 * How a packed document looks; numbers are little-endian, as on every machine that Node 20 is built for.
 *
 *   tag u8 | format u8 | number of arrays u16 | JSON bytes u32
 *   per array: kind u8, three zeros, elements u32
 *   JSON, zeros up to a multiple of 8, then the arrays, each followed by zeros up to a multiple of 8
 */
const FORMAT = 1;
const HEAD_BYTES = 8;
const ARRAY_HEAD_BYTES = 8;
const KINDS = [Float32Array, Float64Array, Uint32Array, Int32Array, Uint8Array] as const;

/** @param tag 0 … 255: what kind of document this is; `unpackDocument` refuses any other. */
export function packDocument(tag: number, json: unknown, arrays: readonly NumberArray[]): Buffer {
  const text = JSON.stringify(json);
  const textStart = HEAD_BYTES + arrays.length * ARRAY_HEAD_BYTES;
  const textBytes = Buffer.byteLength(text);
  let at = align(textStart + textBytes);
  let total = at;
  for (const array of arrays) total += align(array.byteLength);

  // A separate buffer, so that arrays of every kind are aligned in it.
  const document = Buffer.allocUnsafeSlow(total);
  const head = new Uint32Array(document.buffer, 0, textStart / 4);
  head[0] = tag | (FORMAT << 8) | (arrays.length << 16);
  head[1] = textBytes;
  document.write(text, textStart);
  document.fill(0, textStart + textBytes, at);
  for (let i = 0; i < arrays.length; i++) {
    const array = arrays[i];
    head[2 + 2 * i] = kindOf(array);
    head[3 + 2 * i] = array.length;
    const kind = array.constructor as (typeof KINDS)[number];
    new kind(document.buffer, at, array.length).set(array);
    const next = at + align(array.byteLength);
    for (let end = at + array.byteLength; end < next; end++) document[end] = 0;
    at = next;
  }
  return document;
}

/**
 * The arrays are copies: they share one buffer among themselves, and nothing with `bytes`.
 * @param inPlace whether they may be views of `bytes` instead, by what the JSON says: for arrays that are read at once, and not kept
 */
export function unpackDocument(
  tag: number,
  bytes: Uint8Array,
  inPlace: (json: unknown) => boolean = () => false,
): PackedDocument {
  const document = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (documentTag(bytes) !== tag) {
    throw new Error(`This is not the expected document: its tag is ${document[0]} instead of ${tag}.`);
  }
  const arrayCount = document.readUInt16LE(2);
  const textStart = HEAD_BYTES + arrayCount * ARRAY_HEAD_BYTES;
  const textEnd = textStart + document.readUInt32LE(4);
  const json: unknown = JSON.parse(document.toString('utf8', textStart, textEnd));
  const own = document.subarray(align(textEnd));
  const { buffer, byteOffset } = own.byteOffset % 8 === 0 && inPlace(json) ? own : new Uint8Array(own);
  const arrays: NumberArray[] = [];
  let at = 0;
  for (let i = 0; i < arrayCount; i++) {
    const head = HEAD_BYTES + i * ARRAY_HEAD_BYTES;
    const kind = KINDS[document.readUInt32LE(head)];
    if (kind === undefined) throw new Error('This document holds numbers of an unknown kind.');
    const array = new kind(buffer as ArrayBuffer, byteOffset + at, document.readUInt32LE(head + 4));
    arrays.push(array);
    at += align(array.byteLength);
  }
  return { json, arrays };
}

/** Returns what to throw for an error in reading a document: what the engine says of damaged numbers and texts tells nobody what is wrong. */
export function asDamage(error: unknown): unknown {
  const isOfEngine =
    error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  if (!isOfEngine) return error;
  return new Error('This document is damaged: it does not say what such a document says.', { cause: error });
}

/** What kind of document this is. @throws Error when a newer version wrote it, or it is none at all. */
export function documentTag(bytes: Uint8Array): number {
  if (bytes.length < HEAD_BYTES || bytes[1] !== FORMAT) {
    throw new Error(`This document has format ${bytes[1]}, but only format ${FORMAT} can be read here.`);
  }
  return bytes[0];
}

function kindOf(array: NumberArray): number {
  const kind = (KINDS as readonly unknown[]).indexOf(array.constructor);
  if (kind < 0) throw new TypeError(`Arrays of ${Object.prototype.toString.call(array)} cannot be packed.`);
  return kind;
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}
