import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';

/** The set whose queries are asked. */
const TARGETS = 'xlam-toolret';
/** Other tools, none of which is an unlabelled right answer. */
const DISTRACTORS = [
  'seal-tools',
  'mcp-zero',
  'ultratool',
  'toollinkos',
  'api-bank',
  'restbench',
  'toolalpaca',
  'bfcl-simple',
  'bfcl-multiturn',
];
/** Tools that the queries of one group need, at most: the smallest catalog holds some others too. */
const MOST_WANTED = 80;

export interface CatalogueTool {
  readonly id: string;
  readonly tool: ToolDefinition;
}

/** A query, the ids of its right tools, and for each of those the ids that count as the same tool. */
export interface CatalogueQuery {
  readonly query: string;
  readonly relevant: readonly string[];
  readonly alternatives: Readonly<Record<string, readonly string[]>>;
}

/**
 * A catalogue of 12,274 tools put together from public sets, and the queries of one of them. A group of queries is asked
 * of a small catalog that holds their tools and others drawn at random, then of larger ones that hold the smaller; so
 * every size answers the same queries.
 */
export class LargeCatalogue {
  /** In the order in which smaller catalogs are filled. */
  readonly tools: readonly CatalogueTool[];
  readonly queries: readonly CatalogueQuery[];

  private constructor(tools: readonly CatalogueTool[], queries: readonly CatalogueQuery[]) {
    this.tools = tools;
    this.queries = queries;
  }

  /** Null if the data folder has no such sets. */
  static async read(data: string): Promise<LargeCatalogue | null> {
    if (!existsSync(join(data, TARGETS))) return null;
    type Line = { id: string; name: string; description?: string; parameters?: Record<string, unknown> };
    const tools: CatalogueTool[] = [];
    for (const set of [TARGETS, ...DISTRACTORS]) {
      for (const line of await readLines<Line>(join(data, set, 'tools.jsonl'))) {
        const { id, name, description = '', parameters = {} } = line;
        tools.push({ id: `${set}/${id}`, tool: { name, description, inputSchema: parameters } });
      }
    }
    const prefixed = (id: string): string => `${TARGETS}/${id}`;
    type QueryLine = Omit<CatalogueQuery, 'alternatives'> & Partial<CatalogueQuery>;
    const lines = await readLines<QueryLine>(join(data, TARGETS, 'queries.test.jsonl'));
    const queries = lines.map(({ query, relevant, alternatives = {} }) => ({
      query,
      relevant: [...new Set(relevant)].map(prefixed),
      alternatives: Object.fromEntries(
        Object.entries(alternatives).map(([id, others]) => [prefixed(id), others.map(prefixed)]),
      ),
    }));
    return new LargeCatalogue(shuffled(tools, 2), queries);
  }

  /** Queries that together need few tools, in so many groups. */
  groups(count: number): CatalogueQuery[][] {
    const known = new Set(this.tools.map(({ id }) => id));
    const groups: CatalogueQuery[][] = [];
    let current: CatalogueQuery[] = [];
    let wanted = new Set<string>();
    for (const query of shuffled(this.queries, 1)) {
      if (!query.relevant.every((id) => known.has(id))) continue;
      const ids = rightTools(query);
      if (new Set([...wanted, ...ids]).size > MOST_WANTED) {
        groups.push(current);
        current = [];
        wanted = new Set();
      }
      current.push(query);
      for (const id of ids) wanted.add(id);
    }
    return groups.slice(0, count);
  }

  /** The tools of a catalog of this size: those that the queries want, then others in a fixed order. */
  catalogOf(size: number, queries: readonly CatalogueQuery[]): CatalogueTool[] {
    const wanted = new Set(queries.flatMap((query) => [...rightTools(query)]));
    const first = this.tools.filter(({ id }) => wanted.has(id));
    return [...first, ...this.tools.filter(({ id }) => !wanted.has(id))].slice(0, size);
  }
}

/** Every tool that answers the query, or a part of it. */
export function rightTools({ relevant, alternatives }: CatalogueQuery): Set<string> {
  return new Set(relevant.flatMap((id) => [id, ...(alternatives[id] ?? [])]));
}

/** Tools at the slots 0, 1, …, found by words and by meaning. Free both. */
export function indexOf(
  tools: readonly { readonly tool: ToolDefinition; readonly embedding: Float32Array }[],
  kernels: Kernels,
  dimensions: number,
): [ToolIndex, ToolVectors] {
  const vectors = new ToolVectors(kernels, dimensions);
  const index = new ToolIndex(kernels);
  index.reset(vectors);
  for (const [slot, { tool, embedding }] of tools.entries()) {
    vectors.put(slot, embedding);
    index.put({ slot, tool });
  }
  return [index, vectors];
}

/** Seeded, so that every run draws the same. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const all = [...items];
  let state = seed;
  for (let at = all.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (at + 1));
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all;
}

async function readLines<T>(file: string): Promise<T[]> {
  const text = existsSync(file) ? await readFile(file) : gunzipSync(await readFile(`${file}.gz`));
  return text
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}
