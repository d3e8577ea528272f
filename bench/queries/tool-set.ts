import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { packageRoot } from '../../config/package-root.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { denseText } from '../../src/retrieval/document-text.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';

/** A query and the tools that it needs, each with what would do as well. */
export interface LabelledQuery {
  readonly query: string;
  readonly relevant: readonly string[];
  readonly alternatives?: Readonly<Record<string, readonly string[]>>;
  /** The user's turns, where the query is a conversation. */
  readonly turns?: readonly { readonly query: string; readonly relevant: readonly string[] }[];
}

interface ToolLine {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Record<string, unknown>;
}

interface SetTool {
  readonly id: string;
  readonly tool: ToolDefinition;
}

export const SAMPLE = 'sample-catalog';

/** A data set, or the sample catalog of the repository, with its tools indexed; ids and definitions by slot. */
export class ToolSet {
  readonly index: ToolIndex;
  readonly ids: readonly string[];
  readonly definitions: readonly ToolDefinition[];
  readonly #folder: string;
  readonly #vectors: ToolVectors;

  private constructor(folder: string, tools: readonly SetTool[], index: ToolIndex, vectors: ToolVectors) {
    this.#folder = folder;
    this.ids = tools.map(({ id }) => id);
    this.definitions = tools.map(({ tool }) => tool);
    this.index = index;
    this.#vectors = vectors;
  }

  /** Null when the folder is not there. */
  static async open(data: string, set: string, embedder: Embedder): Promise<ToolSet | null> {
    const folder = set === SAMPLE ? join(packageRoot(), 'examples', SAMPLE) : join(data, set);
    if (!existsSync(folder)) return null;
    const tools = set === SAMPLE ? sampleTools(folder) : setTools(folder);
    const kernels = await loadKernels();
    const vectors = new ToolVectors(kernels, embedder.dimensions);
    const index = new ToolIndex(kernels);
    index.reset(vectors);
    const embeddings = await embedder.embedDocuments(tools.map(({ tool }) => denseText(tool)));
    for (const [slot, { tool }] of tools.entries()) {
      vectors.put(slot, embeddings[slot]);
      index.put({ slot, tool });
    }
    return new ToolSet(folder, tools, index, vectors);
  }

  /** At most `limit` queries of a split, evenly spread, without those that need a tool the catalog lacks only. */
  queries(split: string, limit: number): LabelledQuery[] {
    const known = new Set(this.ids);
    const all = (linesOf(join(this.#folder, `queries.${split}.jsonl`)) as LabelledQuery[])
      .map((one) => ({ ...one, relevant: [...new Set(one.relevant)].filter((id) => known.has(id)) }))
      .filter(({ relevant }) => relevant.length > 0);
    const step = Math.max(1, all.length / limit);
    return Array.from({ length: Math.min(limit, all.length) }, (_, at) => all[Math.floor(at * step)]);
  }

  free(): void {
    this.index.free();
    this.#vectors.free();
  }
}

/** Share of the wanted tools among the first k; one of a tool's alternatives stands for it. */
export function recallAt(
  k: number,
  found: readonly string[],
  { relevant, alternatives }: Pick<LabelledQuery, 'relevant' | 'alternatives'>,
): number {
  const top = new Set(found.slice(0, k));
  const hits = relevant.filter((id) => [id, ...(alternatives?.[id] ?? [])].some((other) => top.has(other)));
  return hits.length / relevant.length;
}

/** The tools of a set without server and category: the reference of bench/retrieval.ts read them so. */
function setTools(folder: string): SetTool[] {
  return (linesOf(join(folder, 'tools.jsonl')) as ToolLine[]).map(
    ({ id, name, description, parameters }) => ({
      id,
      tool: { name, description: description ?? '', inputSchema: parameters ?? {} },
    }),
  );
}

function sampleTools(folder: string): SetTool[] {
  const { tools } = JSON.parse(readFileSync(join(folder, 'tools.json'), 'utf8')) as {
    tools: ToolDefinition[];
  };
  return tools.map((tool) => ({ id: tool.name, tool }));
}

/** The lines of a file as values; of the packed file beside it where it is not there. */
export function linesOf(file: string): unknown[] {
  const bytes = existsSync(file) ? readFileSync(file) : gunzipSync(readFileSync(`${file}.gz`));
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
