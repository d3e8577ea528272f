import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { type MergePassRequest, proposeMerges } from '../../src/merging/propose-merges.ts';
import { RuleJudge } from '../../src/merging/rule-judge.ts';
import { thresholdOf } from '../../src/merging/threshold.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
import { agentAmongDuplicates } from './agent.ts';
import { type RetrievalQuality, retrievalQuality } from './retrieval-quality.ts';
import { scale } from './scale.ts';
import { silhouette } from './silhouette.ts';
import { queriesOfSet, served, ToolCatalog, toolsOfSet } from './tool-catalog.ts';

const SETS = [
  { set: 'bfcl-parallel', split: 'parallel_multiple', use: 'chosen on' },
  { set: 'bfcl-parallel', split: 'parallel', use: 'chosen on' },
  { set: 'seal-tools', split: 'dev', use: 'chosen on' },
  { set: 'bfcl-simple', split: 'test', use: 'kept aside' },
  { set: 'seal-tools', split: 'test', use: 'kept aside' },
  { set: 'seal-tools', split: 'test_in_domain', use: 'kept aside' },
  { set: 'ultratool', split: 'test', use: 'kept aside; another subset than the paper’s' },
] as const;

const THRESHOLDS = [0.7, 0.75, 0.8, 0.82, 0.85, 0.88, 0.9, 0.95];

/** Clusters of k-means, and its starts. */
const CLUSTERS = [25, 50, 100];
const SEEDS = [1];

const tokensOf = (tool: ToolDefinition): number => ESTIMATE.count(JSON.stringify(tool));

export class MergeBench {
  readonly #data: string;
  readonly #kernels: Kernels;
  readonly #embedder: Embedder;

  constructor(data: string, kernels: Kernels, embedder: Embedder) {
    this.#data = data;
    this.#kernels = kernels;
    this.#embedder = embedder;
  }

  async run(part: string): Promise<unknown> {
    if (part === 'quality') return this.#quality();
    if (part === 'sweep') return this.#sweep();
    if (part === 'silhouette') return this.#silhouettes();
    if (part === 'agent') return this.#agents();
    if (part === 'scale')
      return scale(this.#data, this.#kernels, this.#embedder, (catalog) => this.#request(catalog));
    throw new Error(`there is no part "${part}"`);
  }

  #request(catalog: ToolCatalog, threshold = thresholdOf(this.#embedder.fingerprint)): MergePassRequest {
    return {
      tools: catalog.tools,
      kernels: this.#kernels,
      vectors: catalog.vectors,
      threshold,
      judge: new RuleJudge(),
      tokensOf,
    };
  }

  async #quality() {
    const rows = [];
    for (const { set, split, use } of SETS) rows.push({ use, ...(await this.#measure(set, split)) });
    for (const { set, split, before, remapped, after, tools, left, counts, tokens, tokensLeft } of rows) {
      console.log(
        `${set} ${split}: ${tools} → ${left} (${(100 * (left / tools - 1)).toFixed(1)} %), tokens ${tokens} → ${tokensLeft}, ${JSON.stringify(counts)}`,
      );
      for (const [label, q] of Object.entries({ before, remapped, after }))
        console.log(' ', label.padEnd(9), show(q));
    }
    return rows;
  }

  async #sweep() {
    const rows = [];
    for (const { set, split, use } of SETS) {
      if (use !== 'chosen on' && set !== 'seal-tools' && set !== 'bfcl-simple') continue;
      for (const threshold of THRESHOLDS) {
        const row = { use, threshold, ...(await this.#measure(set, split, threshold)) };
        rows.push(row);
        console.log(
          set,
          split,
          threshold,
          `${row.tools} → ${row.left}`,
          row.counts.pairs,
          row.counts.same,
          show(row.after),
        );
      }
    }
    return rows;
  }

  async #silhouettes() {
    const rows = [];
    for (const set of ['bfcl-simple', 'seal-tools', 'ultratool']) {
      const tools = toolsOfSet(this.#data, set).map(({ tool }) => tool);
      const whole = await ToolCatalog.of(tools, this.#kernels, this.#embedder);
      const { proposals } = await proposeMerges(this.#request(whole));
      const fewer = await ToolCatalog.of(served(tools, proposals).tools, this.#kernels, this.#embedder);
      for (const k of CLUSTERS.filter((size) => size < fewer.tools.length / 2)) {
        const [before, after] = [whole, fewer].map(({ vectors, tools: { length } }) => {
          const slots = Array.from({ length }, (_, slot) => slot);
          const each = SEEDS.map((seed) => silhouette(vectors, slots, k, seed));
          return each.reduce((sum, value) => sum + value, 0) / each.length;
        });
        console.log(set, k, before.toFixed(4), '→', after.toFixed(4));
        rows.push({ set, k, before, after });
      }
      whole.free();
      fewer.free();
    }
    return rows;
  }

  async #agents() {
    const rows = [];
    for (const [set, split] of [
      ['bfcl-simple', 'test'],
      ['seal-tools', 'test'],
    ]) {
      rows.push(
        ...(await agentAmongDuplicates(this.#data, set, split, this.#kernels, this.#embedder, (catalog) =>
          this.#request(catalog),
        )),
      );
    }
    return rows;
  }

  async #measure(set: string, split: string, threshold?: number) {
    const listed = toolsOfSet(this.#data, set);
    const names = new Map(listed.map(({ id, tool }) => [id, tool.name]));
    const tools = listed.map(({ tool }) => tool);
    const queries = queriesOfSet(this.#data, set, split, names);
    const whole = await ToolCatalog.of(tools, this.#kernels, this.#embedder);
    const { proposals, counts } = await proposeMerges(this.#request(whole, threshold));
    const merged = served(tools, proposals);
    const fewer = await ToolCatalog.of(merged.tools, this.#kernels, this.#embedder);
    const quality = (catalog: ToolCatalog, labelOf: (name: string) => string): Promise<RetrievalQuality> =>
      retrievalQuality(catalog, queries, this.#embedder, labelOf, (slot) =>
        tokensOf(catalog.tools[slot].tool),
      );
    const row = {
      set,
      split,
      queries: queries.length,
      tools: tools.length,
      left: merged.tools.length,
      merges: proposals.length,
      counts,
      tokens: tools.reduce((sum, tool) => sum + tokensOf(tool), 0),
      tokensLeft: merged.tools.reduce((sum, tool) => sum + tokensOf(tool), 0),
      before: await quality(whole, (name) => name),
      remapped: await quality(whole, merged.representativeOf),
      after: await quality(fewer, merged.representativeOf),
    };
    whole.free();
    fewer.free();
    return row;
  }
}

function show({ recall1, recall5, recall10, csr, slateTokens }: RetrievalQuality): string {
  const shares = Object.entries({ recall1, recall5, recall10, csr });
  return `${shares.map(([name, share]) => `${name} ${share.toFixed(3)}`).join(' ')} tokens ${slateTokens.toFixed(0)}`;
}
