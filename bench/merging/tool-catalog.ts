import { join } from 'node:path';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ProposedMerge } from '../../src/ledger/merge-definition.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { MergeableTool } from '../../src/merging/audit-component.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { denseText } from '../../src/retrieval/document-text.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { type LabelledQuery, linesOf } from '../queries/tool-set.ts';

interface ToolLine {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Record<string, unknown>;
  readonly category?: string;
}

/**
 * The tools of a data set with unique names, as a catalog has them: where a name occurs again it gets underscores at its end, which say nothing.
 * @param most only so many of them
 */
export function toolsOfSet(
  data: string,
  set: string,
  most = Infinity,
): { id: string; tool: ToolDefinition }[] {
  const names = new Set<string>();
  return (linesOf(join(data, set, 'tools.jsonl')) as ToolLine[]).slice(0, most).map((line) => {
    let { name } = line;
    while (names.has(name)) name += '_';
    names.add(name);
    const { description = '', parameters = {} } = line;
    return { id: line.id, tool: { name, description, inputSchema: parameters } };
  });
}

/** Some tools with their vectors and an index of them, by slot. */
export class ToolCatalog {
  readonly tools: readonly MergeableTool[];
  readonly vectors: ToolVectors;
  readonly index: ToolIndex;

  private constructor(tools: readonly MergeableTool[], vectors: ToolVectors, index: ToolIndex) {
    this.tools = tools;
    this.vectors = vectors;
    this.index = index;
  }

  static async of(
    tools: readonly ToolDefinition[],
    kernels: Kernels,
    embedder: Embedder,
  ): Promise<ToolCatalog> {
    const vectors = new ToolVectors(kernels, embedder.dimensions);
    const index = new ToolIndex(kernels);
    index.reset(vectors);
    const embeddings = await embedder.embedDocuments(tools.map(denseText));
    for (const [slot, tool] of tools.entries()) {
      vectors.put(slot, embeddings[slot]);
      index.put({ slot, tool });
    }
    const listed = tools.map((tool, slot) => ({ slot, tool, hash: definitionHash(tool) }));
    return new ToolCatalog(listed, vectors, index);
  }

  free(): void {
    this.index.free();
    this.vectors.free();
  }
}

/** What is served while these merges are approved: united definitions in place of their members; and by whom each tool is stood for. */
export function served(
  tools: readonly ToolDefinition[],
  merges: readonly ProposedMerge[],
): { tools: ToolDefinition[]; representativeOf: (name: string) => string } {
  const standIns = new Map<string, ProposedMerge>();
  for (const merge of merges) for (const { name } of merge.members) standIns.set(name, merge);
  const representativeOf = (name: string): string => standIns.get(name)?.representative ?? name;
  return {
    tools: tools.flatMap((tool) => {
      const merge = standIns.get(tool.name);
      if (merge === undefined) return [tool];
      return merge.representative === tool.name ? [merge.definition] : [];
    }),
    representativeOf,
  };
}

/** The labelled queries of a split, with names of the catalog in place of ids; without those whose tools it lacks. */
export function queriesOfSet(
  data: string,
  set: string,
  split: string,
  nameOf: ReadonlyMap<string, string>,
): LabelledQuery[] {
  return (linesOf(join(data, set, `queries.${split}.jsonl`)) as LabelledQuery[])
    .map(({ query, relevant }) => ({
      query,
      relevant: [...new Set(relevant)].flatMap((id) => nameOf.get(id) ?? []),
    }))
    .filter(({ relevant }) => relevant.length > 0);
}
