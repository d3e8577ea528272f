import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Embedder } from '../models/embedder.ts';
import { toFixedPoint } from '../models/fixed-point.ts';
import { denseText } from '../retrieval/document-text.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { LabelledQuery } from './evaluate.ts';
import type { PreparedTool } from './simulated-catalog.ts';

/** A labelled query as it is written in a file: its text, and the names of the tools that fit. */
export interface Label {
  readonly query: string;
  readonly relevant: readonly string[];
}

export interface Prepared {
  readonly tools: readonly PreparedTool[];
  /** Queries that at least one known tool fits, in the given order. */
  readonly queries: readonly LabelledQuery[];
  /** Names in labels that no tool has, sorted; they were left out. */
  readonly unknown: readonly string[];
}

/** Texts per call of the embedder. */
const LOT = 256;

/**
 * Embeds and tokenises everything that a simulation needs, once.
 * @param embedder null: retrieval by words alone.
 * @param onProgress is called after every batch with the number of texts that are embedded, and of all texts.
 */
export async function prepare(
  tools: readonly ToolDefinition[],
  labels: readonly Label[],
  embedder: Embedder | null,
  onProgress: (done: number, all: number) => void = () => {},
): Promise<Prepared> {
  const names = new Set(tools.map(({ name }) => name));
  const fitting = labels.map(({ query, relevant }) => ({
    query,
    relevant: [...new Set(relevant)].filter((name) => names.has(name)),
  }));
  const kept = fitting.filter(({ relevant }) => relevant.length > 0);
  const unknown = new Set(labels.flatMap(({ relevant }) => relevant).filter((name) => !names.has(name)));

  const all = tools.length + kept.length;
  const documents = await inLots(
    tools.map(denseText),
    embedder && ((lot) => embedder.embedDocuments(lot)),
    (done) => onProgress(done, all),
  );
  const texts = kept.map(({ query }) => query);
  const queries = await inLots(texts, embedder && ((lot) => embedder.embedQueries(lot)), (done) =>
    onProgress(tools.length + done, all),
  );
  return {
    tools: tools.map((tool, at) => ({ tool, embedding: documents[at] })),
    queries: kept.map(({ query, relevant }, at) => ({
      text: query,
      tokens: tokenise(query),
      // As routing rounds it.
      embedding: queries[at] && toFixedPoint(queries[at]),
      relevant,
    })),
    unknown: [...unknown].sort(),
  };
}

async function inLots(
  texts: readonly string[],
  embed: ((lot: readonly string[]) => Promise<Float32Array[]>) | null,
  onProgress: (done: number) => void,
): Promise<(Float32Array | null)[]> {
  if (embed === null) return texts.map(() => null);
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += LOT) {
    vectors.push(...(await embed(texts.slice(from, from + LOT))));
    onProgress(vectors.length);
  }
  return vectors;
}
