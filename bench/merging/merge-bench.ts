import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { type MergePass, proposeMerges } from '../../src/merging/propose-merges.ts';
import { RuleJudge } from '../../src/merging/rule-judge.ts';
import { thresholdOf } from '../../src/merging/threshold.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
import { type RetrievalQuality, retrievalQuality } from './retrieval-quality.ts';
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
    throw new Error(`there is no part "${part}"`);
  }

  pass(catalog: ToolCatalog, threshold = thresholdOf(this.#embedder.fingerprint)): Promise<MergePass> {
    return proposeMerges({
      tools: catalog.tools,
      kernels: this.#kernels,
      vectors: catalog.vectors,
      threshold,
      judge: new RuleJudge(),
      tokensOf,
    });
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

  async #measure(set: string, split: string, threshold?: number) {
    const listed = toolsOfSet(this.#data, set);
    const names = new Map(listed.map(({ id, tool }) => [id, tool.name]));
    const tools = listed.map(({ tool }) => tool);
    const queries = queriesOfSet(this.#data, set, split, names);
    const whole = await ToolCatalog.of(tools, this.#kernels, this.#embedder);
    const { proposals, counts } = await this.pass(whole, threshold);
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
