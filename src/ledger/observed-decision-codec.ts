import type { NumberArray } from '../storage/packed-document.ts';
import type { ObservedDecision } from './entry.ts';

/** The part of an observed decision that is JSON. */
export type PackedObserved = Omit<ObservedDecision, 'embedding' | 'terms' | 'columns' | 'features'> & {
  readonly embedded: boolean;
  /** Policy versions in the order of their feature arrays. */
  readonly versions: readonly string[];
};

export function packObserved(decision: ObservedDecision): PackedObserved {
  const { embedding, terms: _, columns: __, features, ...plain } = decision;
  return { ...plain, embedded: embedding !== null, versions: Object.keys(features) };
}

/** The part that is arrays: terms, weights, the four columns, the features of each version, the embedding. */
export function decisionArrays({ embedding, terms, columns, features }: ObservedDecision): NumberArray[] {
  const { similarity, lexical, dense, retrieval } = columns;
  const arrays = [
    terms.terms,
    terms.weights,
    similarity,
    lexical,
    dense,
    retrieval,
    ...Object.values(features),
  ];
  return embedding === null ? arrays : [...arrays, embedding];
}

export function unpackObserved(packed: PackedObserved, arrays: readonly NumberArray[]): ObservedDecision {
  const { embedded, versions, ...plain } = packed;
  const [terms, weights, ...others] = arrays;
  const [similarity, lexical, dense, retrieval, ...rest] = others as Float32Array[];
  return {
    ...plain,
    embedding: embedded ? rest[versions.length] : null,
    terms: { terms: terms as Uint32Array, weights: weights as Float32Array },
    columns: { similarity, lexical, dense, retrieval },
    features: Object.fromEntries(versions.map((version, i) => [version, rest[i]])),
  };
}
