import { trainOneVsRest } from '../../bandit/classification/one-vs-rest.ts';
import type { Domain } from '../ledger/catalog-settings.ts';
import type { DomainRules, SettingsEntry } from '../ledger/entry.ts';
import { type Embedder, EmbedderUnavailableError } from '../models/embedder.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { Catalog } from './catalog.ts';

/** Returns what tells domains apart: terms as queries have them, and a classifier. @throws EmbedderUnavailableError */
export async function domainRules(
  domains: readonly Domain[],
  { name, state, embedder, embedderDown }: Catalog,
): Promise<NonNullable<SettingsEntry['domains']>> {
  const { fingerprint } = state;
  if (embedderDown && hasExamples(domains)) {
    throw new EmbedderUnavailableError(
      `Examples of domains are embedded, and the embedding model of catalog "${name}" cannot be asked now.`,
    );
  }
  const terms = domains.map(({ words = [] }) => words.map((text) => [...tokenise(text)]));
  return { fingerprint, terms, weights: await domainWeights(domains, embedder) };
}

/** Returns the weights of the classifier; none without examples or an embedder. @throws EmbedderUnavailableError */
export async function domainWeights(
  domains: readonly Domain[],
  embedder: Embedder | null,
): Promise<DomainRules['weights']> {
  if (embedder === null || !hasExamples(domains)) return new Float32Array(0);
  const labelled = domains.flatMap(({ examples = [] }, of) => examples.map((text) => ({ text, of })));
  const vectors = await embedder.embedQueries(labelled.map(({ text }) => text));
  const examples = labelled.map(({ of }, at) => ({ embedding: vectors[at], of }));
  return inSlices(trainOneVsRest(examples, domains.length, embedder.dimensions));
}

function hasExamples(domains: readonly Domain[]): boolean {
  return domains.some(({ examples = [] }) => examples.length > 0);
}
