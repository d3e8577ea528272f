import { crc32 } from 'node:zlib';
import { type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';
import type { Decision, DecisionColumns, DecisionContext } from './decision.ts';
import { LostNamesError, type NumberedNames } from './decision-names.ts';
import { packColumns, unpackColumns } from './packed-columns.ts';

/** Tag of a packed decision; ledger entries, snapshots and activations have 1, 3 and 4. */
export const DECISION_TAG = 2;
/** Of the JSON of a decision. */
const VERSION = 10;

/** Index of each column among the columns. A new one goes to the end, and needs a new version. */
const INDICES: Readonly<Record<keyof DecisionColumns, number>> = {
  score: 0,
  mean: 1,
  base: 2,
  gain: 3,
  uncertainty: 4,
  bonus: 5,
  trials: 6,
  propensity: 7,
  similarity: 8,
  lexical: 9,
  dense: 10,
  retrieval: 11,
};
const COLUMNS = Object.keys(INDICES) as readonly (keyof DecisionColumns)[];

type PackedDecision = Omit<
  Decision,
  'query' | 'columns' | 'features' | 'temperature' | 'logProbability' | 'candidates' | 'context'
> & {
  readonly context?: Omit<DecisionContext, 'features'> & { readonly features: readonly number[] };
  readonly version: typeof VERSION;
  readonly embedded: boolean;
  /** Absent when they are numbers of names, in an array that ends with the checksum of the names. */
  readonly candidates?: readonly string[];
  /** Policy versions in the order of their features, and in how many columns these are. */
  readonly versions: readonly (readonly [version: string, columns: number])[];
};

/**
 * Returns a decision as bytes; decoding them gives the same decision bit for bit. The extra features are turned into columns, some of
 * which are columns of the decision as well.
 * @param names with all candidates; absent: the record spells them out
 */
export function encodeDecision(decision: Decision, names?: NumberedNames): Buffer {
  const { query, columns, features, temperature, logProbability, candidates, context, ...plain } = decision;
  const all = COLUMNS.map((column) => columns[column]);
  const versions = Object.entries(features).map(([version, rows]) => {
    const table = columnsOf(rows, plain.extras.length);
    all.push(...table);
    return [version, table.length] as const;
  });
  const embedded = query.embedding !== null;
  const spelled = names === undefined ? { candidates } : {};
  const kept = context && { context: { ...context, features: [...context.features] } };
  const packed: PackedDecision = { ...plain, ...spelled, ...kept, version: VERSION, embedded, versions };
  const arrays: NumberArray[] = [
    Float64Array.of(temperature, logProbability),
    query.terms.terms,
    query.terms.weights,
    packColumns(all),
  ];
  if (names !== undefined) arrays.push(numbersOf(candidates, names));
  if (query.embedding !== null) arrays.push(query.embedding);
  return packDocument(DECISION_TAG, packed, arrays);
}

/**
 * @param names with which it was encoded
 * @throws LostNamesError; Error when the bytes are no decision, or one that only another version of Bandolier can read
 */
export function decodeDecision(bytes: Uint8Array, names?: NumberedNames): Decision {
  const { json, arrays } = unpackDocument(DECISION_TAG, bytes);
  // The first version did not say which one it was.
  const { version = 1, ...packed } = json as Omit<PackedDecision, 'version'> & { readonly version?: number };
  if (version !== VERSION) {
    throw new Error(
      `This is a decision of version ${version}, and this Bandolier reads version ${VERSION}: use the Bandolier that wrote it, or begin with an empty data folder or Redis.`,
    );
  }
  const { embedded, versions, candidates, context, ...plain } = packed;
  const [doubles, terms, weights, block, numbers] = arrays;
  const [temperature, logProbability] = doubles;
  const all = unpackColumns(block as Uint32Array);
  const columns = Object.fromEntries(COLUMNS.map((column, i) => [column, all[i]]));
  let at = COLUMNS.length;
  const features = versions.map(([name, width]) => {
    at += width;
    return [name, rowsOf(all.slice(at - width, at))];
  });
  return {
    ...plain,
    ...(context && { context: { ...context, features: Float32Array.from(context.features) } }),
    candidates: candidates ?? namesOf(numbers as Uint32Array, names!, plain.id),
    temperature,
    logProbability,
    query: {
      embedding: embedded ? (arrays[arrays.length - 1] as Float32Array) : null,
      terms: { terms: terms as Uint32Array, weights: weights as Float32Array },
    },
    columns: columns as unknown as DecisionColumns,
    features: Object.fromEntries(features) as Record<string, Float32Array>,
  };
}

/** Returns the numbers of the candidates, then the checksum of their names. */
function numbersOf(candidates: readonly string[], names: NumberedNames): Uint32Array {
  const numbers = new Uint32Array(candidates.length + 1);
  for (const [i, name] of candidates.entries()) numbers[i] = names.numberOf(name);
  numbers[candidates.length] = checksumOf(candidates);
  return numbers;
}

/** A log of names that was cut off gives its last numbers a second time; the checksum tells the other names. */
function namesOf(numbers: Uint32Array, names: NumberedNames, id: string): string[] {
  const count = numbers.length - 1;
  const candidates: (string | undefined)[] = [];
  for (let i = 0; i < count; i++) candidates.push(names.at(numbers[i]));
  if (checksumOf(candidates) === numbers[count]) return candidates as string[];
  throw new LostNamesError(id);
}

function checksumOf(candidates: readonly (string | undefined)[]): number {
  return crc32(JSON.stringify(candidates));
}

/** Returns the columns of a row-major table; one column if it is none. */
function columnsOf(rows: Float32Array, width: number): Float32Array[] {
  const length = rows.length / width;
  if (width < 2 || rows.length === 0 || !Number.isInteger(length)) return [rows];
  const turned = new Float32Array(rows.length);
  const columns: Float32Array[] = [];
  for (let column = 0; column < width; column++) {
    const start = column * length;
    for (let row = 0; row < length; row++) turned[start + row] = rows[row * width + column];
    columns.push(turned.subarray(start, start + length));
  }
  return columns;
}

function rowsOf(columns: readonly Float32Array[]): Float32Array {
  const width = columns.length;
  if (width === 1) return columns[0];
  const rows = new Float32Array(columns[0].length * width);
  for (let at = 0; at < width; at++) {
    const column = columns[at];
    for (let row = 0; row < column.length; row++) rows[row * width + at] = column[row];
  }
  return rows;
}
