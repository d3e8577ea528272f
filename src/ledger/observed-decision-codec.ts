import type { NumberArray } from '../storage/packed-document.ts';
import type { ObservedDecision } from './entry.ts';

/** The part of an observed decision that is JSON. */
export type PackedObserved = Omit<ObservedDecision, 'embedding' | 'terms' | 'similarities' | 'features'> & {
  readonly embedded: boolean;
  /** Policy versions in the order of their feature arrays. */
  readonly versions: readonly string[];
};

export function packObserved(decision: ObservedDecision): PackedObserved {
  const { embedding, terms: _, similarities: __, features, ...plain } = decision;
  return { ...plain, embedded: embedding !== null, versions: Object.keys(features) };
}

/** The part that is arrays: terms, weights, similarities, the features of each version, the embedding. */
export function decisionArrays({
  embedding,
  terms,
  similarities,
  features,
}: ObservedDecision): NumberArray[] {
  const arrays = [terms.terms, terms.weights, similarities, ...Object.values(features)];
  return embedding === null ? arrays : [...arrays, embedding];
}

export function unpackObserved(packed: PackedObserved, arrays: readonly NumberArray[]): ObservedDecision {
  const { embedded, versions, ...plain } = packed;
  const [terms, weights, similarities, ...rest] = arrays;
  return {
    ...plain,
    embedding: embedded ? (rest[versions.length] as Float32Array) : null,
    terms: { terms: terms as Uint32Array, weights: weights as Float32Array },
    similarities: similarities as Float32Array,
    features: Object.fromEntries(versions.map((version, i) => [version, rest[i] as Float32Array])),
  };
}
