import { packDocument, unpackDocument } from '../storage/packed-document.ts';
import { type ContextItem, type StoredItem, searchedText } from './item.ts';

const TAG = 0x69;
const VERSION = 3;

/** The items of a user with their vectors. Row i is that of item i. */
export interface ItemRecord {
  readonly items: readonly StoredItem[];
  readonly vectors: ItemVectors;
}

/** Vectors in eight bits a number: number j of item i is about `scales[i] * values[i * dimensions + j]`. */
export interface ItemVectors {
  /** Of the embedder that made them; null: there is none, or it could not be asked. */
  readonly fingerprint: string | null;
  readonly dimensions: number;
  readonly values: Int8Array;
  /** 0: the item has no vector (yet). */
  readonly scales: Float32Array;
}

export function noVectors(items: number): ItemVectors {
  return { fingerprint: null, dimensions: 0, values: new Int8Array(0), scales: new Float32Array(items) };
}

/**
 * Lays out the vectors of items: those that were made now, else those that the same embedder made for the same `searchedText` before,
 * else none.
 * @param fresh by that text
 */
export function vectorsOf(
  items: readonly ContextItem[],
  { fingerprint, dimensions }: { readonly fingerprint: string; readonly dimensions: number },
  fresh: ReadonlyMap<string, Float32Array>,
  before: ItemRecord,
): ItemVectors {
  const values = new Int8Array(items.length * dimensions);
  const scales = new Float32Array(items.length);
  const rows = before.vectors.fingerprint === fingerprint ? rowsByText(before) : new Map<string, number>();
  for (const [at, item] of items.entries()) {
    const text = searchedText(item);
    const vector = fresh.get(text);
    const row = rows.get(text);
    const target = values.subarray(at * dimensions, (at + 1) * dimensions);
    if (vector !== undefined) scales[at] = quantise(vector, target);
    else if (row !== undefined) {
      target.set(before.vectors.values.subarray(row * dimensions, (row + 1) * dimensions));
      scales[at] = before.vectors.scales[row];
    }
  }
  return { fingerprint, dimensions, values, scales };
}

/** Returns the searched texts without a vector of this embedder. A vector that is all zero was made, and is none of them. */
export function textsWithoutVector(
  items: readonly ContextItem[],
  before: ItemRecord,
  fingerprint: string,
): string[] {
  const rows = before.vectors.fingerprint === fingerprint ? rowsByText(before) : new Map<string, number>();
  return [...new Set(items.map(searchedText))].filter((text) => !rows.has(text));
}

function rowsByText({ items, vectors: { scales } }: ItemRecord): Map<string, number> {
  const rows = new Map<string, number>();
  for (const [at, item] of items.entries()) if (scales[at] > 0) rows.set(searchedText(item), at);
  return rows;
}

/** Rounds to eight bits; the largest number becomes ±127. Returns the scale, which is above 0 also for a vector of zeros. */
export function quantise(vector: Float32Array, target: Int8Array): number {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  if (!(largest > 0)) return 1;
  for (let j = 0; j < vector.length; j++) target[j] = Math.round((vector[j] / largest) * 127);
  return Math.fround(largest / 127);
}

export function packItems({ items, vectors }: ItemRecord): Buffer {
  const { fingerprint, dimensions, values, scales } = vectors;
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return packDocument(TAG, { version: VERSION, items, fingerprint, dimensions }, [scales, bytes]);
}

/** @throws Error when another version of Bandolier wrote it */
export function unpackItems(bytes: Uint8Array): ItemRecord {
  const { json, arrays } = unpackDocument(TAG, bytes);
  const { version, items, fingerprint, dimensions } = json as {
    readonly version: number;
    readonly items: readonly StoredItem[];
    readonly fingerprint: string | null;
    readonly dimensions: number;
  };
  if (version !== VERSION) {
    throw new Error(
      `What a user has is kept in format ${version}, and this version of Bandolier reads format ${VERSION}: use the version that wrote it, or erase the user.`,
    );
  }
  const [scales, packed] = arrays as [Float32Array, Uint8Array];
  const values = new Int8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  return { items, vectors: { fingerprint, dimensions, values, scales } };
}
