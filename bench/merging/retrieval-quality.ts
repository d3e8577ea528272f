import type { Embedder } from '../../src/models/embedder.ts';
import { splitQuery } from '../../src/queries/split-query.ts';
import type { SearchedText } from '../../src/retrieval/searched-texts.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import type { LabelledQuery } from '../queries/tool-set.ts';
import type { ToolCatalog } from './tool-catalog.ts';

const CANDIDATES = 50;

/** Retrieval over all queries of a set; shares, 0…1. */
export interface RetrievalQuality {
  readonly recall1: number;
  readonly recall5: number;
  readonly recall10: number;
  /** Share of the queries for which the tools selected are those that are wanted and no others. */
  readonly csr: number;
  /** Mean tokens of the five best tools. */
  readonly slateTokens: number;
}

/**
 * Measures the retrieval of a catalog with the queries of a set: sub-queries, fused scores. What is selected, in place of the paper's
 * language model, is the best tool of each sub-query.
 * @param labelOf by what name a tool is counted: the representative of its merge
 */
export async function retrievalQuality(
  catalog: ToolCatalog,
  queries: readonly LabelledQuery[],
  embedder: Embedder,
  labelOf: (name: string) => string,
  tokensOf: (slot: number) => number,
): Promise<RetrievalQuality> {
  const sums = { recall1: 0, recall5: 0, recall10: 0, csr: 0, slateTokens: 0 };
  for (const { query, relevant } of queries) {
    const parts = splitQuery(query);
    const [whole, ...others] = await searched(parts.length > 1 ? [query, ...parts] : [query], embedder);
    const { slots } = catalog.index.search({ ...whole, parts: others, limit: CANDIDATES }).candidates;
    const labels = [...new Set(Array.from(slots, (slot) => labelOf(catalog.tools[slot].tool.name)))];
    const wanted = new Set(relevant.map(labelOf));
    const recall = (k: number): number =>
      labels.slice(0, k).filter((name) => wanted.has(name)).length / wanted.size;
    sums.recall1 += recall(1);
    sums.recall5 += recall(5);
    sums.recall10 += recall(10);
    const selected = new Set(
      (others.length > 0 ? others : [whole]).map((text) => {
        const [best] = catalog.index.search({ ...text, limit: 1 }).candidates.slots;
        return best === undefined ? '' : labelOf(catalog.tools[best].tool.name);
      }),
    );
    if (selected.size === wanted.size && [...selected].every((name) => wanted.has(name))) sums.csr++;
    for (const slot of slots.subarray(0, 5)) sums.slateTokens += tokensOf(slot);
  }
  const count = queries.length;
  return {
    recall1: sums.recall1 / count,
    recall5: sums.recall5 / count,
    recall10: sums.recall10 / count,
    csr: sums.csr / count,
    slateTokens: sums.slateTokens / count,
  };
}

/** Returns the names of the tools that are found for a query, best first. */
export async function foundFor(query: string, catalog: ToolCatalog, embedder: Embedder): Promise<string[]> {
  const parts = splitQuery(query);
  const [whole, ...others] = await searched(parts.length > 1 ? [query, ...parts] : [query], embedder);
  const { slots } = catalog.index.search({ ...whole, parts: others, limit: CANDIDATES }).candidates;
  return Array.from(slots, (slot) => catalog.tools[slot].tool.name);
}

async function searched(texts: readonly string[], embedder: Embedder): Promise<SearchedText[]> {
  const embeddings = await embedder.embedQueries(texts);
  return texts.map((text, at) => ({ tokens: tokenise(text), embedding: embeddings[at] }));
}
