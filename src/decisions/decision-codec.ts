import { type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';
import type { Decision, DecisionColumns } from './decision.ts';

/** Tag of a packed decision; ledger entries, snapshots and activations have 1, 3 and 4. */
export const DECISION_TAG = 2;
/** Of the JSON of a decision. */
const VERSION = 3;

/** Index of each column among the arrays. A new column goes to the end, and needs a new tag. */
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

type PackedDecision = Omit<Decision, 'query' | 'columns' | 'features' | 'temperature' | 'logProbability'> & {
  readonly version: typeof VERSION;
  readonly embedded: boolean;
  /** Policy versions in the order of their feature arrays, which come last but for the embedding. */
  readonly versions: readonly string[];
};

/** Returns a decision as bytes; decoding them gives the same decision bit for bit. */
export function encodeDecision(decision: Decision): Buffer {
  const { query, columns, features, temperature, logProbability, ...plain } = decision;
  const versions = Object.keys(features);
  const embedded = query.embedding !== null;
  const packed: PackedDecision = { ...plain, version: VERSION, embedded, versions };
  const arrays: NumberArray[] = [
    Float64Array.of(temperature, logProbability),
    query.terms.terms,
    query.terms.weights,
  ];
  for (const column of COLUMNS) arrays.push(columns[column]);
  for (const version of versions) arrays.push(features[version]);
  if (query.embedding !== null) arrays.push(query.embedding);
  return packDocument(DECISION_TAG, packed, arrays);
}

/** @throws Error when the bytes are no decision, or one that only another version of Bandolier can read. */
export function decodeDecision(bytes: Uint8Array): Decision {
  const { json, arrays } = unpackDocument(DECISION_TAG, bytes);
  // The first version did not say which one it was.
  const { version = 1, ...packed } = json as Omit<PackedDecision, 'version'> & { readonly version?: number };
  if (version !== VERSION) {
    throw new Error(
      `This is a decision of version ${version}, and this Bandolier reads version ${VERSION}: use the Bandolier that wrote it, or begin with an empty data folder or Redis.`,
    );
  }
  const { embedded, versions, ...plain } = packed;
  const [doubles, terms, weights, ...rest] = arrays;
  const [temperature, logProbability] = doubles;
  const columns = Object.fromEntries(COLUMNS.map((column, i) => [column, rest[i]]));
  const features = versions.map((version, i) => [version, rest[COLUMNS.length + i]]);
  return {
    ...plain,
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
