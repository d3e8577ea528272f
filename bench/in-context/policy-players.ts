import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { policyKind } from '../../bandit/policies/registry.ts';
import { EMPTY_RECALL } from '../../bandit/policies/without-memory.ts';
import { randomFor } from '../../bandit/random.ts';
import { EMPTY_SPARSE_VECTOR } from '../../bandit/sparse-vector.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { denseText } from '../../src/retrieval/document-text.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { SimulatedCatalog } from '../../src/simulation/simulated-catalog.ts';
import { LinUcbOneHot } from '../linucb-onehot.ts';
import type { Player, ShownTool } from './play.ts';

/** Vectors by text: the same few texts are needed in every run. */
export class EmbeddedTexts {
  readonly #embedder: Embedder;
  readonly #queries = new Map<string, Float32Array>();
  readonly #documents = new Map<string, Float32Array>();

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
  }

  get dimensions(): number {
    return this.#embedder.dimensions;
  }

  async query(text: string): Promise<Float32Array> {
    const vector = this.#queries.get(text) ?? (await this.#embedder.embedQueries([text]))[0];
    this.#queries.set(text, vector);
    return vector;
  }

  async document(text: string): Promise<Float32Array> {
    const vector = this.#documents.get(text) ?? (await this.#embedder.embedDocuments([text]))[0];
    this.#documents.set(text, vector);
    return vector;
  }
}

/** A policy of the registry with its defaults, through the code paths of the service: retrieval, decision, fold. */
export class PolicyPlayer implements Player {
  readonly #texts: EmbeddedTexts;
  readonly #catalog: SimulatedCatalog;
  readonly #key: string;
  #offered: readonly string[] = [];
  #decision: Decision | null = null;

  /** @param key by which its draws are keyed. */
  constructor(policy: string, kernels: Kernels, texts: EmbeddedTexts, key: string) {
    const exploration = policyKind(policy).defaultExploration;
    const settings = { name: policy, parameters: {}, exploration, temperature: 0.03 };
    this.#catalog = new SimulatedCatalog(kernels, texts.dimensions, settings);
    this.#texts = texts;
    this.#key = key;
  }

  async offer(tools: readonly ShownTool[]): Promise<void> {
    const labels = tools.map(({ label }) => label);
    this.#catalog.remove(this.#offered.filter((label) => !labels.includes(label)));
    const prepared = tools.map(async ({ label, description }) => {
      const tool = { name: label, description, inputSchema: {} };
      return { tool, embedding: await this.#texts.document(denseText(tool)) };
    });
    this.#catalog.put(await Promise.all(prepared));
    this.#offered = labels;
  }

  async choose(turn: number, query: string): Promise<string> {
    const prepared = { text: query, tokens: tokenise(query), embedding: await this.#texts.query(query) };
    this.#catalog.advance(turn);
    const decision = this.#catalog.decide(`${this.#key}x${turn}`, prepared, 1, true);
    this.#decision = decision;
    return decision.candidates[decision.slate[0]];
  }

  learn(reward: 0 | 1): void {
    const { slate, candidates } = this.#decision!;
    this.#catalog.report(this.#decision!, [{ tool: candidates[slate[0]], success: reward === 1 }]);
  }

  free(): void {
    this.#catalog.free();
  }
}

/** The paper's baseline, which sees no text of a tool; ties are broken at random, as in the paper. */
export class OneHotPlayer implements Player {
  readonly #texts: EmbeddedTexts;
  readonly #learner: LinUcbOneHot;
  readonly #key: string;
  /** Labels by slot; null where no tool has the slot. */
  #slots: (string | null)[] = [];
  #last: { readonly embedding: Float32Array; readonly slot: number } | null = null;

  constructor(kernels: Kernels, texts: EmbeddedTexts, key: string) {
    this.#learner = new LinUcbOneHot({ kernels, dimensions: texts.dimensions, alpha: 0.5, lambda: 1 });
    this.#texts = texts;
    this.#key = key;
  }

  async offer(tools: readonly ShownTool[]): Promise<void> {
    for (const [slot, label] of this.#slots.entries()) {
      if (label === null || tools.some((tool) => tool.label === label)) continue;
      this.#slots[slot] = null;
      this.#learner.forgetTool();
    }
    for (const { label } of tools) {
      if (this.#slots.includes(label)) continue;
      const free = this.#slots.indexOf(null);
      const slot = free < 0 ? this.#slots.length : free;
      this.#slots[slot] = label;
      this.#learner.addTool(slot);
    }
  }

  async choose(turn: number, query: string): Promise<string> {
    const embedding = await this.#texts.query(query);
    const live = [...this.#slots.keys()].filter((slot) => this.#slots[slot] !== null);
    const nothing = new Float64Array(live.length);
    const random = randomFor(`${this.#key}/${turn}`);
    const { score } = this.#learner.rank({
      query: { embedding, terms: EMPTY_SPARSE_VECTOR },
      candidates: {
        slots: Int32Array.from(live),
        lexical: nothing,
        dense: nothing,
        base: nothing,
        similarity: nothing,
      },
      recall: EMPTY_RECALL,
      random,
    });
    const best = Math.max(...score);
    const ties = live.filter((_, at) => score[at] >= best - 1e-12);
    const slot = ties[Math.floor(random.uniform(0) * ties.length)];
    this.#last = { embedding, slot };
    return this.#slots[slot]!;
  }

  learn(reward: 0 | 1): void {
    const { embedding, slot } = this.#last!;
    const query = { embedding, terms: EMPTY_SPARSE_VECTOR };
    this.#learner.learn({ query, slot, similarity: 0, extras: new Float32Array(0) }, reward, 1);
  }

  free(): void {
    this.#learner.free();
  }
}
