import type { LearnerState } from './policy.ts';

/**
 * Returns the canonical state of a learner as bytes. Little-endian:
 *
 *   "BLRN" | version u32 | CRC-32 of all that follows u32 | names u32 (bytes)
 *   names: UTF-8 JSON {policy, numbers: [name, …], arrays: [[name, kind, length], …]}, spaces up to a multiple of 8
 *   numbers: float64 each, in that order
 *   arrays: their elements, each array followed by zeros up to a multiple of 8
 */
const MAGIC = [0x42, 0x4c, 0x52, 0x4e];
const VERSION = 2;
const HEAD_BYTES = 16;
const CHECKED_FROM = 12;

const KINDS = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
} as const;

type Kind = keyof typeof KINDS;
type NumberArray = InstanceType<(typeof KINDS)[Kind]>;

interface Names {
  readonly policy: string;
  readonly numbers: readonly string[];
  readonly arrays: readonly (readonly [name: string, kind: Kind, length: number])[];
}

/** CRC-32 as in zlib, which the caller passes. */
export type Crc32 = (bytes: Uint8Array) => number;

/** Thrown when the bytes are damaged, cut short, of another version, or no learner. */
export class LearnerUnreadableError extends Error {
  override readonly name = 'LearnerUnreadableError';
}

export function encodeLearner(state: LearnerState, crc32: Crc32): Uint8Array {
  const arrays = Object.entries(state.arrays);
  const numbers = Object.entries(state.numbers);
  const names: Names = {
    policy: state.policy,
    numbers: numbers.map(([name]) => name),
    arrays: arrays.map(([name, array]) => [name, kindOf(array), array.length]),
  };
  const text = new TextEncoder().encode(JSON.stringify(names));
  const numbersAt = aligned(HEAD_BYTES + text.length);
  let length = numbersAt + 8 * numbers.length;
  for (const [, array] of arrays) length += aligned(array.byteLength);

  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(4, VERSION, true);
  view.setUint32(12, numbersAt - HEAD_BYTES, true);
  bytes.fill(0x20, HEAD_BYTES, numbersAt);
  bytes.set(text, HEAD_BYTES);
  for (const [index, [, value]] of numbers.entries()) view.setFloat64(numbersAt + 8 * index, value, true);
  let at = numbersAt + 8 * numbers.length;
  for (const [, array] of arrays) {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += aligned(array.byteLength);
  }
  view.setUint32(8, crc32(bytes.subarray(CHECKED_FROM)), true);
  return bytes;
}

/** Decodes a learner; the arrays are copies. @throws LearnerUnreadableError */
export function decodeLearner(bytes: Uint8Array, crc32: Crc32): LearnerState {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbersAt = check(bytes, view, crc32);
  const names: Names = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD_BYTES, numbersAt)));
  const numbers: Record<string, number> = {};
  for (const [index, name] of names.numbers.entries()) {
    numbers[name] = view.getFloat64(numbersAt + 8 * index, true);
  }
  const arrays: Record<string, NumberArray> = {};
  let at = numbersAt + 8 * names.numbers.length;
  for (const [name, kind, length] of names.arrays) {
    const array = new KINDS[kind](length);
    new Uint8Array(array.buffer).set(bytes.subarray(at, at + array.byteLength));
    arrays[name] = array;
    at += aligned(array.byteLength);
  }
  return { policy: names.policy, numbers, arrays };
}

/** Answers where the numbers begin. */
function check(bytes: Uint8Array, view: DataView, crc32: Crc32): number {
  if (bytes.length < HEAD_BYTES || MAGIC.some((byte, index) => bytes[index] !== byte)) {
    throw new LearnerUnreadableError('These bytes are no learner, or only the beginning of one.');
  }
  const version = view.getUint32(4, true);
  if (version !== VERSION) {
    throw new LearnerUnreadableError(
      `This learner has version ${version}; version ${VERSION} can be read here.`,
    );
  }
  if (crc32(bytes.subarray(CHECKED_FROM)) !== view.getUint32(8, true)) {
    throw new LearnerUnreadableError('This learner is damaged: its checksum does not match.');
  }
  return HEAD_BYTES + view.getUint32(12, true);
}

function kindOf(array: LearnerState['arrays'][string]): Kind {
  for (const [kind, type] of Object.entries(KINDS)) if (array instanceof type) return kind as Kind;
  throw new TypeError(`Arrays of ${Object.prototype.toString.call(array)} cannot be encoded.`);
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

type Arrays = LearnerState['arrays'];
type ArrayType<T> = { readonly name: string; new (length: number): T };

/**
 * Returns the named array of a saved learner.
 * @throws Error when it is missing, of another type, or not of this length.
 */
export function savedArray<T extends Arrays[string]>(
  arrays: Arrays,
  name: string,
  type: ArrayType<T>,
  length?: number,
): T {
  const array = arrays[name];
  if (!(array instanceof type)) {
    throw new Error(
      `The saved learner has no ${type.name} “${name}”: it was written by another version or policy.`,
    );
  }
  if (length !== undefined && array.length !== length) {
    throw new Error(
      `The saved learner is damaged: “${name}” has ${array.length} values instead of ${length}.`,
    );
  }
  return array;
}

/** Returns the result of work that pauses, without a pause: `atOnce` of src/scheduling, which this folder may not import. */
export function completed<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
