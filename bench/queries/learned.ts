import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { splitQuery } from '../../src/queries/split-query.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import type { LabelledQuery } from '../../src/simulation/evaluate.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { LabelledSet } from '../labelled-set.ts';

export interface LearnedRow {
  readonly set: string;
  readonly decomposed: boolean;
  readonly steps: number;
  /** Recall@5 while learning, over all steps. */
  readonly online: number;
  /** Of the held-out queries, before and after. */
  readonly before: { readonly recall5: number; readonly complete5: number };
  readonly after: { readonly recall5: number; readonly complete5: number };
}

/** The default policy learns from one split and is asked another, whole queries and decomposed ones; one seed. */
export async function learned(
  data: string,
  set: string,
  [train, test]: readonly [string, string],
  steps: number,
  embedder: Embedder,
): Promise<LearnedRow[]> {
  const kernels = await loadKernels();
  const source = new LabelledSet(data, set, embedder);
  const tools = await source.tools();
  const all = await source.queries(train);
  const every = Math.ceil(all.length / steps);
  const queries = all.filter((_, at) => at % every === 0);
  const heldOut = await source.queries(test);
  const rows: LearnedRow[] = [];
  for (const decomposed of [false, true]) {
    const prepare = (some: LabelledQuery[]) => (decomposed ? withParts(some, embedder) : some);
    const { online, evaluations } = await simulate({
      kernels,
      tools,
      queries: await prepare(queries),
      heldOut: await prepare(heldOut),
      k: 5,
      seed: 1,
      policy: DEFAULT_CATALOG_SETTINGS.policy,
      evaluateAfter: [0],
    });
    const [before, after] = evaluations.map(({ recall, complete }) => ({
      recall5: recall[5],
      complete5: complete[5],
    }));
    const shown = online.filter((share) => !Number.isNaN(share));
    const mean = shown.reduce((sum, share) => sum + share, 0) / shown.length;
    rows.push({
      set: `${set} ${train} → ${test}`,
      decomposed,
      steps: queries.length,
      online: mean,
      before,
      after,
    });
  }
  return rows;
}

async function withParts(queries: LabelledQuery[], embedder: Embedder): Promise<LabelledQuery[]> {
  const prepared: LabelledQuery[] = [];
  for (const query of queries) {
    const texts = splitQuery(query.text);
    const embeddings = texts.length > 1 ? await embedder.embedQueries(texts) : [];
    const parts = embeddings.map((embedding, at) => ({
      text: texts[at],
      tokens: tokenise(texts[at]),
      embedding,
    }));
    prepared.push({ ...query, parts });
  }
  return prepared;
}
