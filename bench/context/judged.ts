import {
  CONTEXT_FEATURES,
  type ContextCandidate,
  type ContextMoment,
  contextFeatures,
} from '../../bandit/ranking/context-features.ts';
import type { RankingSet } from '../../bandit/ranking/ranking-set.ts';
import { product, type SemanticMap } from '../../bandit/ranking/semantic-map.ts';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { Bm25Index } from '../../src/retrieval/bm25.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { readTools } from './facets.ts';
import type { Persona, Query } from './world.ts';

/** A query with everything that rankings of its user's items are made of. */
export interface Judged {
  readonly query: Query;
  readonly embedding: Float32Array;
  /** With the scripted thought. */
  readonly thoughtEmbedding: Float32Array;
  readonly stores: readonly string[];
  readonly texts: readonly string[];
  readonly vectors: readonly Float32Array[];
  readonly words: readonly number[];
  readonly thoughtWords: readonly number[];
  readonly relevant: readonly boolean[];
  readonly candidates: readonly ContextCandidate[];
  readonly moment: Omit<ContextMoment, 'mapped'>;
}

/** n × d, as the service would compute them before the query. */
export function featuresOf({ candidates, moment, embedding }: Judged, map: SemanticMap | null): Float64Array {
  return contextFeatures(candidates, { ...moment, mapped: map?.map(embedding) ?? null });
}

/** Tools that look right from the query alone count with a softmax of their cosines. */
const TOOL_TEMPERATURE = 0.05;
const TOOLS = 5;

/** Everything about the queries of these personas. What a persona used is noted in order, and before the first query. */
export async function judge(personas: readonly Persona[], embedder: Embedder): Promise<Judged[]> {
  const tools = readTools();
  const toolVectors = await embedder.embedDocuments(
    tools.map(({ name, description }) => `${name} ${description}`),
  );
  const judged: Judged[] = [];
  for (const { items, past, queries } of personas) {
    const vectors = await embedder.embedDocuments(items.map(({ text }) => text));
    const asked = await embedder.embedQueries(past.map(({ query }) => query));
    const usage = new Map(items.map(({ id }) => [id, new UsageSignals()]));
    for (const [at, { time, place, tools: called, items: used }] of past.entries()) {
      for (const id of used) {
        const others = used.filter((other) => other !== id);
        usage.get(id)!.note({ time, place, tools: called, items: others, query: asked[at] });
      }
    }
    const index = new Bm25Index();
    for (const [slot, { text }] of items.entries()) index.put(slot, tokenise(text));
    const wordsOf = (text: string): number[] => {
      const { scores } = index.search(tokenise(text));
      return items.map((_, slot) => scores[slot]);
    };
    for (const query of queries) {
      const thoughtful = `${query.text} ${query.thought}`;
      const [embedding, thoughtEmbedding] = await embedder.embedQueries([query.text, thoughtful]);
      const words = wordsOf(query.text);
      const candidates = items.map(
        ({ id, store, put, at }, slot): ContextCandidate => ({
          id,
          store,
          usage: usage.get(id)!,
          put,
          at,
          vector: vectors[slot],
          words: words[slot],
        }),
      );
      const { now, place, recent } = query;
      const weights = softmaxOfBest(toolVectors.map((vector) => product(embedding, vector)));
      const moment = {
        query: embedding,
        now,
        place,
        recent,
        tools: new Map(weights.map(({ at, weight }) => [tools[at].name, weight])),
      };
      judged.push({
        query,
        embedding,
        thoughtEmbedding,
        stores: items.map(({ store }) => store),
        texts: items.map(({ text }) => text),
        vectors,
        words,
        thoughtWords: wordsOf(thoughtful),
        relevant: items.map(({ id }) => query.relevant.includes(id)),
        candidates,
        moment,
      });
    }
  }
  return judged;
}

/** The same user at the same moment, asking something else. @param toolVectors of `readTools` */
export function asking(
  judged: Judged,
  { text, embedding }: { readonly text: string; readonly embedding: Float32Array },
  toolVectors: readonly Float32Array[],
): Pick<Judged, 'candidates' | 'moment'> {
  const index = new Bm25Index();
  for (const [slot, own] of judged.texts.entries()) index.put(slot, tokenise(own));
  const { scores } = index.search(tokenise(text));
  return {
    candidates: judged.candidates.map((candidate, slot) => ({ ...candidate, words: scores[slot] })),
    moment: { ...judged.moment, query: embedding, tools: likelyTools(embedding, toolVectors) },
  };
}

function likelyTools(query: Float32Array, toolVectors: readonly Float32Array[]): Map<string, number> {
  const tools = readTools();
  const weights = softmaxOfBest(toolVectors.map((vector) => product(query, vector)));
  return new Map(weights.map(({ at, weight }) => [tools[at].name, weight]));
}

function softmaxOfBest(cosines: readonly number[]): { at: number; weight: number }[] {
  const best = [...cosines.keys()].sort((a, b) => cosines[b] - cosines[a]).slice(0, TOOLS);
  const weights = best.map((at) => Math.exp((cosines[at] - cosines[best[0]]) / TOOL_TEMPERATURE));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return best.map((at, place) => ({ at, weight: weights[place] / total }));
}

/**
 * @param features by query
 * @param without names of features that are left out: they are missing everywhere
 */
export function rankingSetOf(
  judged: readonly Judged[],
  features: readonly Float64Array[],
  without: ReadonlySet<string> = new Set(),
): RankingSet {
  const d = CONTEXT_FEATURES.length;
  const rows = judged.reduce((sum, { relevant }) => sum + relevant.length, 0);
  const all = new Float64Array(rows * d);
  const labels = new Uint8Array(rows);
  const queryStarts = [0];
  let row = 0;
  for (const [at, { relevant }] of judged.entries()) {
    all.set(features[at], row * d);
    for (const one of relevant) labels[row++] = one ? 1 : 0;
    queryStarts.push(row);
  }
  for (const [column, name] of CONTEXT_FEATURES.entries()) {
    if (without.has(name)) for (let at = column; at < all.length; at += d) all[at] = Number.NaN;
  }
  return { names: CONTEXT_FEATURES, features: all, labels, queryStarts: Uint32Array.from(queryStarts) };
}
