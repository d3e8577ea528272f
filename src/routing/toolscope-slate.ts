import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogSettings, SlateMethod } from '../ledger/catalog-settings.ts';
import type { SearchedText } from '../retrieval/searched-texts.ts';
import type { ToolIndex } from '../retrieval/tool-index.ts';
import type { RouteRequest } from './route-request.ts';
import type { QueryPart, UnderstoodQuery } from './understand-query.ts';

/** Tools of each sub-query that are scored, as in the paper. */
const POOL = 50;

/** Returns who chooses the slate: what the request says, else the catalog; under the kill switch nobody but retrieval. */
export function slateMethodFor(
  { slate }: Pick<RouteRequest, 'slate'>,
  settings: Pick<CatalogSettings, 'slate' | 'killSwitch'>,
): SlateMethod {
  return settings.killSwitch ? 'policy' : (slate ?? settings.slate);
}

/** What was found for one sub-query: slots, and a score for each; larger is better. */
export interface ScoredTools {
  readonly slots: ArrayLike<number>;
  readonly scores: ArrayLike<number>;
}

/**
 * Scores tools as ToolScope's retriever orders them (section 3.3): the best tool of every sub-query comes first, then the others by
 * their scores, which are brought to 0…1 within each sub-query (eq. 5). Of a tool that several sub-queries found the best score counts.
 *
 * @returns by slot: 2 − i/1000 for the best of sub-query i (from 0), else 0…1
 */
export function toolscopeScores(found: readonly ScoredTools[]): Map<number, number> {
  const all = new Map<number, number>();
  const raise = (slot: number, score: number): void => {
    if (score > (all.get(slot) ?? -1)) all.set(slot, score);
  };
  for (const [i, { slots, scores }] of found.entries()) {
    let best = 0;
    let least = 0;
    for (let at = 1; at < slots.length; at++) {
      if (scores[at] > scores[best]) best = at;
      if (scores[at] < scores[least]) least = at;
    }
    const range = scores[best] - scores[least];
    for (let at = 0; at < slots.length; at++) {
      raise(slots[at], at === best ? 2 - i / 1000 : range > 0 ? (scores[at] - scores[least]) / range : 0);
    }
  }
  return all;
}

type SubQuery = SearchedText & Pick<QueryPart, 'closer'>;

/**
 * Searches for each sub-query by itself, with words and vectors; of a query that asks for one thing, for all of it. Where the catalog
 * has a reranker, its scores order what was found. Of a sub-query that touches no tool nothing is found.
 */
export function toolsOfSubQueries(
  query: UnderstoodQuery,
  { index, state }: Pick<Catalog, 'index' | 'state'>,
  exclude: ReadonlySet<number>,
): ScoredTools[] {
  const whole: SubQuery = {
    tokens: query.tokens,
    embedding: query.features.embedding,
    closer: query.rerank?.scores,
  };
  // The next step of an agent is a part of its own, beside a query that is none of several.
  const isSplit = (query.split?.parts.length ?? 0) > 1;
  const subQueries: readonly SubQuery[] = [...(isSplit ? [] : [whole]), ...query.parts];
  return subQueries.map(({ closer, ...part }) => {
    const found = toolsOf(part, index, exclude);
    if (closer === undefined || closer.size === 0) return found;
    const said = Array.from(found.slots, (slot) => closer.get(state.merges.served(slot)!.hash));
    const least = Math.min(...closer.values());
    // What came or changed after the reranker was asked is as good as the last.
    return { slots: found.slots, scores: said.map((score) => score ?? least) };
  });
}

/** Returns the best tools for one text, by the fused score of retrieval; those that nothing in it touches are none. */
export function toolsOf(
  { tokens, embedding }: SearchedText,
  index: Pick<ToolIndex, 'search'>,
  exclude?: ReadonlySet<number>,
): { readonly slots: Int32Array; readonly scores: Float64Array } {
  const search = { tokens, embedding, limit: POOL, ...(exclude && { exclude }) };
  const { slots, base } = index.search(search).candidates;
  const touched = base.findIndex((score) => score <= 0);
  const count = touched < 0 ? slots.length : touched;
  return { slots: slots.subarray(0, count), scores: base.subarray(0, count) };
}
