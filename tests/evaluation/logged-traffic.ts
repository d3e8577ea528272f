import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { observedDecision } from '../../src/decisions/observed-decision.ts';
import type { Entry, ObservationEntry } from '../../src/ledger/entry.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { sequence } from '../bandit/kernels/both-kernels.ts';

const DIMENSIONS = 12;
const TOOLS = 25;
const CANDIDATES = 15;
const K = 4;

/** Decisions that were drawn by chance, and one reward each; every seventh has a pinned tool. */
export class LoggedTraffic {
  readonly setUp: readonly Entry[];
  readonly state: CatalogState;
  readonly decisions: readonly Decision[];
  readonly entries: readonly ObservationEntry[];
  readonly #next = sequence(7);
  readonly #vectors: readonly Float32Array[];

  constructor(kernels: Kernels, count: number) {
    this.#vectors = Array.from({ length: TOOLS }, () => this.#unit());
    this.setUp = [
      {
        kind: 'embedder',
        key: 'e',
        at: 0,
        model: 'letters',
        fingerprint: 'e',
        dimensions: DIMENSIONS,
        vectors: [],
      },
      {
        kind: 'tools',
        source: 'api',
        key: 't',
        at: 0,
        put: this.#vectors.map((embedding, i) => ({
          tool: { name: `t${i}`, description: `tool ${i}`, inputSchema: { type: 'object' } },
          hash: `h${i}`,
          embedding,
        })),
        remove: [],
        fingerprint: 'e',
      },
    ];
    this.state = new CatalogState('default', { kernels, derived: true });
    for (const [i, entry] of this.setUp.entries()) fold(this.state, { position: i + 1, entry });
    this.decisions = Array.from({ length: count }, (_, i) => this.#decision(i));
    this.entries = this.decisions.map((decision, i) => this.#reward(decision, i));
  }

  #decision(i: number): Decision {
    const query = this.#unit();
    const tools = Array.from({ length: TOOLS }, (_, tool) => tool)
      .map((tool) => ({ tool, order: this.#next() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, CANDIDATES)
      .map(({ tool }) => tool);
    const column = (of: (tool: number) => number): Float32Array => Float32Array.from(tools, of);
    const similarity = column((tool) => this.#vectors[tool].reduce((sum, v, d) => sum + v * query[d], 0));
    const lexical = column(() => (this.#next() + 1) / 2);
    const dense = column((tool) => (similarity[tools.indexOf(tool)] + 1) / 2);
    // The order is one by chance already, so the first ones are a draw.
    const slate = Array.from({ length: K }, (_, at) => at);
    const pinned = i % 7 === 0;
    const free = (K - (pinned ? 1 : 0)) / (CANDIDATES - (pinned ? 1 : 0));
    return {
      id: `default.${i}`,
      catalog: 'default',
      at: 1000 * i + 1,
      deadline: 1000 * i + 600_000,
      revision: 'r2',
      position: 2,
      policy: { name: 'uniform', version: 'uniform@9' },
      fingerprint: 'e',
      query: { embedding: query, terms: { terms: Uint32Array.of(i % 20), weights: Float32Array.of(1) } },
      exploration: 'plackett-luce',
      temperature: 0.03,
      propensityMethod: 'exact',
      k: K,
      format: 'names',
      detail: 'names',
      learn: true,
      fallback: null,
      logProbability: 0,
      activation: 'now',
      candidates: tools.map((tool) => `t${tool}`),
      slate,
      reasons: slate.map((at) => (pinned && at === 0 ? 'pinned' : 'retrieved')),
      hashes: slate.map((at) => `h${tools[at]}`),
      columns: {
        score: similarity,
        mean: similarity,
        base: similarity,
        gain: similarity,
        uncertainty: similarity,
        bonus: similarity,
        trials: similarity,
        propensity: column((tool) => (pinned && tool === tools[0] ? 1 : free)),
        similarity,
        lexical,
        dense,
        retrieval: lexical.map((value, at) => (value + dense[at]) / 2),
      },
      extras: [],
      features: {},
      activatedAt: 1000 * i + 1,
    };
  }

  /** The likelier, the closer the tool is to the query. */
  #reward(decision: Decision, i: number): ObservationEntry {
    const at = decision.at + 500;
    const index = decision.slate[i % K];
    const value = decision.columns.similarity[index] > 0.5 * this.#next() ? 1 : 0;
    const outcome = value === 1 ? 'success' : 'failure';
    return {
      kind: 'observation',
      key: `o${i}`,
      at,
      decision: observedDecision(decision, []),
      reports: [{ rewardId: `r${i}`, tool: decision.candidates[index], outcome, value, weight: 1, at }],
      closes: true,
    };
  }

  #unit(): Float32Array {
    const vector = Float32Array.from({ length: DIMENSIONS }, () => this.#next());
    const norm = Math.hypot(...vector);
    return vector.map((value) => value / norm);
  }
}
