import { classOf } from '../../bandit/classification/one-vs-rest.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { UnderstoodQuery } from './understand-query.ts';

/**
 * Returns the domain of a query: the first one of which it has a word or phrase, else the one that its vector is clearly of; null: none. Without an
 * embedder words decide alone.
 */
export function domainOf(
  { tokens, features: { embedding } }: Pick<UnderstoodQuery, 'tokens' | 'features'>,
  { settings: { domains }, domains: { terms, weights } }: Pick<CatalogState, 'settings' | 'domains'>,
): string | null {
  if (domains.length === 0) return null;
  const byWords = terms.findIndex((phrases) => phrases.some((phrase) => isIn(tokens, phrase)));
  if (byWords >= 0) return domains[byWords].name;
  const found = embedding === null || weights.length === 0 ? null : classOf(weights, embedding);
  return found === null ? null : domains[found.of].name;
}

/** Returns whether a phrase stands among the terms, one after the other. */
function isIn(tokens: Uint32Array, phrase: readonly number[]): boolean {
  for (let start = tokens.indexOf(phrase[0]); start >= 0; start = tokens.indexOf(phrase[0], start + 1)) {
    if (phrase.every((term, at) => tokens[start + at] === term)) return true;
  }
  return false;
}
