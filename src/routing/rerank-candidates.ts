import type { Catalog } from '../catalog/catalog.ts';
import type { Rerankers } from '../catalog/rerankers.ts';
import { denseText } from '../retrieval/document-text.ts';
import type { SearchedText } from '../retrieval/tool-index.ts';

/** Tools that are looked at more closely: what retrieval proposes. */
const LOOKED_AT = 50;

/** What a closer look at the best tools brought. */
export interface Rerank {
  /** The reranker's scores by definition hash; empty where there are none. */
  readonly scores: ReadonlyMap<string, number>;
  /** Why the fused order stands; null: it does not. */
  readonly fallback: string | null;
}

/** Looks at the best tools more closely, if the catalog wants that and time allows; null: it does not want that. */
export async function rerankCandidates(
  text: string,
  query: SearchedText & { readonly parts: readonly SearchedText[] },
  catalog: Pick<Catalog, 'state' | 'index'>,
  rerankers: Rerankers,
): Promise<Rerank | null> {
  const { reranker: settings } = catalog.state.settings;
  if (settings === null) return null;
  const without = (fallback: string): Rerank => ({ scores: new Map(), fallback });
  const reranker = rerankers.ready(settings.model);
  if (reranker === null) return without(`the reranker "${settings.model}" is not open`);
  const { candidates } = catalog.index.search({ ...query, limit: LOOKED_AT });
  const records = Array.from(candidates.slots, (slot) => catalog.state.tools.atSlot(slot)!);
  if (records.length === 0) return without('there is nothing to look at');
  const documents = records.map(({ tool }) => denseText(tool));
  const answer = await reranker.rerank(text, documents, settings.budgetMs);
  if ('missing' in answer) return without(answer.missing);
  return { scores: new Map(records.map(({ hash }, at) => [hash, answer.scores[at]])), fallback: null };
}
