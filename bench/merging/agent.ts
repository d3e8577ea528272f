import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { type MergePassRequest, proposeMerges } from '../../src/merging/propose-merges.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import type { LabelledQuery } from '../queries/tool-set.ts';
import { foundFor } from './retrieval-quality.ts';
import { randomNumbers } from './silhouette.ts';
import { queriesOfSet, served, ToolCatalog, toolsOfSet } from './tool-catalog.ts';

const SLATE = 5;
/** Servers that offer copies of every tool; a query is labelled with the tool of one of them. */
const SERVERS: readonly (readonly string[])[] = [
  [],
  ['docs', 'docs-copy'],
  ['docs', 'docs-copy', 'docs-old'],
];

/**
 * An agent among duplicates: it is shown five tools and calls one for each thing that the query needs. It tells apart what does different things, and
 * not what does the same: of tools that are merged afterwards it takes any. Right is the tool that the label names, or that
 * stands for it.
 */
export async function agentAmongDuplicates(
  data: string,
  set: string,
  split: string,
  kernels: Kernels,
  embedder: Embedder,
  requestOf: (catalog: ToolCatalog) => MergePassRequest,
) {
  const rows = [];
  for (const servers of SERVERS) {
    const random = randomNumbers(1);
    const originals = toolsOfSet(data, set);
    const nameAt = (name: string, server: string | undefined): string =>
      server === undefined ? name : `${server}.${name}`;
    const tools = originals.flatMap(({ tool }): ToolDefinition[] =>
      servers.length === 0
        ? [tool]
        : servers.map((server) => ({ ...tool, name: nameAt(tool.name, server), server })),
    );
    const names = new Map(originals.map(({ id, tool }) => [id, tool.name]));
    const queries = queriesOfSet(data, set, split, names).map(
      ({ query, relevant }): LabelledQuery => ({
        query,
        relevant: relevant.map((name) => nameAt(name, servers[Math.floor(random() * servers.length)])),
      }),
    );
    const whole = await ToolCatalog.of(tools, kernels, embedder);
    const { proposals } = await proposeMerges(requestOf(whole));
    const merged = served(tools, proposals);
    const fewer = await ToolCatalog.of(merged.tools, kernels, embedder);
    const ways = {
      before: { catalog: whole, labelOf: (name: string) => name },
      after: { catalog: fewer, labelOf: merged.representativeOf },
    };
    const row = {
      set,
      split,
      copies: Math.max(1, servers.length),
      tools: tools.length,
      left: merged.tools.length,
      shown: {},
      right: {},
    };
    for (const [when, { catalog, labelOf }] of Object.entries(ways)) {
      let shown = 0;
      let right = 0;
      for (const { query, relevant } of queries) {
        const slate = (await foundFor(query, catalog, embedder)).slice(0, SLATE);
        const called = relevant.map((wanted) => {
          const able = slate.filter(
            (name) => merged.representativeOf(name) === merged.representativeOf(wanted),
          );
          return { wanted, able, name: able[Math.floor(random() * able.length)] };
        });
        if (called.every(({ able }) => able.length > 0)) shown++;
        if (called.every(({ wanted, name }) => name !== undefined && labelOf(name) === labelOf(wanted)))
          right++;
      }
      Object.assign(row.shown, { [when]: shown / queries.length });
      Object.assign(row.right, { [when]: right / queries.length });
    }
    whole.free();
    fewer.free();
    console.log(JSON.stringify(row));
    rows.push(row);
  }
  return rows;
}
