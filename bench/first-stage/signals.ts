import type { CaseOutcome, Example, QueryFeatures, Recall } from '../../bandit/policy.ts';
import type { SparseVector } from '../../bandit/sparse-vector.ts';
import { Bm25Index } from '../../src/retrieval/bm25.ts';
import { lexicalText } from '../../src/retrieval/document-text.ts';
import type { SearchedText } from '../../src/retrieval/searched-texts.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import type { PreparedTool } from '../../src/simulation/simulated-catalog.ts';

/** Another way to say which tools fit a query; it may learn from the same events as the policy. */
export interface Signal {
  learn?(example: Example, reward: number): void;
  remember?(caseId: number, query: QueryFeatures, outcomes: readonly CaseOutcome[]): void;
  /** One score for each slot, larger is better; the scale is free. */
  score(query: SearchedText, recall: Recall): Float64Array;
}

/** The tools by slot, from 0 without gaps. */
export type Tools = readonly PreparedTool[];

/** Counts as done well: half a success. */
const WELL = 0.5;
/** The kernel by which outcome memory weighs its cases (bandit/memory/recall-sums.ts). */
const FULL_WEIGHT_AT = 0.7;
const KERNEL_WIDTH = 0.1;

/**
 * The vector of the query, moved by one unit towards the tools that did well for similar queries, or towards those queries
 * themselves. `by vote`: moved by the sum of votes instead, hence hardly at all where nothing similar is known.
 */
export class MovedVector implements Signal {
  readonly #tools: Tools;
  readonly #towards: 'tools' | 'tools by vote' | 'queries';
  readonly #goodCases = new Map<number, Float32Array>();

  constructor(tools: Tools, towards: 'tools' | 'tools by vote' | 'queries') {
    this.#tools = tools;
    this.#towards = towards;
  }

  remember(caseId: number, { embedding }: QueryFeatures, outcomes: readonly CaseOutcome[]): void {
    if (embedding === null || this.#goodCases.has(caseId)) return;
    if (outcomes.some(({ reward }) => reward > WELL)) this.#goodCases.set(caseId, embedding);
  }

  score({ embedding }: SearchedText, recall: Recall): Float64Array {
    const sum = new Float64Array(embedding!.length);
    if (this.#towards === 'queries') {
      const best = Math.max(FULL_WEIGHT_AT, recall.cases[0]?.similarity ?? 0);
      for (const { caseId, similarity } of recall.cases) {
        const query = this.#goodCases.get(caseId);
        if (query !== undefined) add(sum, Math.exp((similarity - best) / KERNEL_WIDTH), query);
      }
    } else {
      for (const [row, slot] of recall.slots.entries()) {
        add(sum, recall.votes[row], this.#tools[slot].embedding!);
      }
    }
    const length = this.#towards === 'tools by vote' ? 1 : Math.sqrt(product(sum, sum));
    const moved = Float64Array.from(embedding!);
    if (length > 0) add(moved, 1 / length, sum);
    return Float64Array.from(this.#tools, (tool) => product(moved, tool.embedding!));
  }
}

/**
 * BM25 for the query and the words that weigh most in the documents of tools that did well for similar queries: ten words
 * that count half, or (`by vote`) twenty that count twice their share of the votes.
 */
export class MoreWords implements Signal {
  readonly #byVote: boolean;
  readonly #documents = new Bm25Index();
  readonly #words: readonly SparseVector[];
  readonly #shares = new Map<number, { slots: number[]; scores: Float64Array }>();
  readonly #size: number;

  constructor(tools: Tools, byVote: boolean) {
    this.#byVote = byVote;
    this.#size = tools.length;
    const texts = tools.map(({ tool }) => tokenise(lexicalText(tool)));
    for (const [slot, text] of texts.entries()) this.#documents.put(slot, text);
    this.#words = texts.map((text) => this.#documents.queryTerms(text));
  }

  score({ tokens }: SearchedText, recall: Recall): Float64Array {
    const all = new Float64Array(this.#size);
    for (const token of tokens) this.#add(all, token, 1);
    const sums = new Map<number, number>();
    for (const [row, slot] of recall.slots.entries()) {
      const vote = recall.votes[row];
      if (vote <= (this.#byVote ? 0.02 : 0)) continue;
      const { terms, weights } = this.#words[slot];
      for (const [i, term] of terms.entries()) sums.set(term, (sums.get(term) ?? 0) + vote * weights[i]);
    }
    const best = [...sums].sort((a, b) => b[1] - a[1]).slice(0, this.#byVote ? 20 : 10);
    for (const [term, sum] of best) this.#add(all, term, this.#byVote ? 2 * sum : 0.5);
    return all;
  }

  /** What one word says is the same for every query. */
  #add(all: Float64Array, term: number, weight: number): void {
    let share = this.#shares.get(term);
    if (share === undefined) {
      const { scores } = this.#documents.search(Uint32Array.of(term));
      const slots = [...scores.subarray(0, this.#size).keys()].filter((slot) => scores[slot] > 0);
      share = { slots, scores: Float64Array.from(slots, (slot) => scores[slot]) };
      this.#shares.set(term, share);
    }
    for (const [i, slot] of share.slots.entries()) all[slot] += weight * share.scores[i];
  }
}

/** BM25 over documents of words of the queries that called a tool: at most 64 words each, counted logarithmically. */
export class TaughtWords implements Signal {
  readonly #index = new Bm25Index();
  readonly #counts: readonly Map<number, number>[];

  constructor(tools: Tools) {
    this.#counts = tools.map(() => new Map());
  }

  learn({ query, slot }: Example, reward: number): void {
    if (reward <= WELL) return;
    const counts = this.#counts[slot];
    for (const term of query.terms.terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 64);
    counts.clear();
    for (const [term, count] of kept) counts.set(term, count);
    const text = kept.flatMap(([term, count]) => {
      return new Array<number>(Math.min(8, Math.ceil(Math.log2(1 + count)))).fill(term);
    });
    this.#index.put(slot, Uint32Array.from(text));
  }

  score({ tokens }: SearchedText): Float64Array {
    const all = new Float64Array(this.#counts.length);
    if (this.#index.size > 0) all.set(this.#index.search(tokens).scores.subarray(0, all.length));
    return all;
  }
}

/** e(q)ᵀWφ: one matrix for all tools, hence also for those that nothing is known about. Learned by LMS, failures at half rate. */
export class LinearMap implements Signal {
  readonly #tools: Tools;
  readonly #matrix: readonly Float64Array[];

  constructor(tools: Tools) {
    this.#tools = tools;
    const dimensions = tools[0].embedding!.length;
    this.#matrix = Array.from({ length: dimensions }, () => new Float64Array(dimensions));
  }

  learn({ query: { embedding }, slot }: Example, reward: number): void {
    const tool = this.#tools[slot].embedding!;
    const step = 0.1 * (1 + reward) * (reward - product(this.#mapped(embedding!), tool));
    for (const [i, row] of this.#matrix.entries()) add(row, step * embedding![i], tool);
  }

  score({ embedding }: SearchedText): Float64Array {
    const mapped = this.#mapped(embedding!);
    return Float64Array.from(this.#tools, (tool) => product(mapped, tool.embedding!));
  }

  #mapped(embedding: Float32Array): Float64Array {
    const sum = new Float64Array(embedding.length);
    for (const [i, row] of this.#matrix.entries()) add(sum, embedding[i], row);
    return sum;
  }
}

function add(sum: Float64Array, factor: number, vector: ArrayLike<number>): void {
  if (factor === 0) return;
  for (let i = 0; i < sum.length; i++) sum[i] += factor * vector[i];
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
