import type { CatalogState } from '../state/catalog-state.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';

/** What a catalog has, in few words: for an agent that was shown nothing that helps. */
export interface CatalogSummary {
  /** How many tools it has. */
  readonly tools: number;
  /** By size; those for which there is no room are left out. */
  readonly servers: readonly SummarisedServer[];
  readonly domains: readonly { readonly domain: string; readonly tools: number }[];
  /** How many servers and domains were left out. */
  readonly more: number;
}

export interface SummarisedServer {
  /** Null: of tools that name none. */
  readonly server: string | null;
  readonly tools: number;
  /** Some of its tools: those that are called most. */
  readonly examples: readonly string[];
}

const MOST_SERVERS = 50;
const MOST_DOMAINS = 50;
const EXAMPLES = 3;
/** Unless the request says otherwise. */
const DEFAULT_TOKENS = 1500;

/** Sums up the live tools by server and by domain, which are their tags, within so many tokens. */
export function summariseCatalog(
  { tools, merges }: Pick<CatalogState, 'tools' | 'merges'>,
  counter: TokenCounter,
  tokenBudget = DEFAULT_TOKENS,
): CatalogSummary {
  const servers = new Map<string | null, { name: string; called: number }[]>();
  const domains = new Map<string, number>();
  for (const record of tools.servedTools()) {
    const { tool } = record;
    const known = servers.get(tool.server ?? null) ?? [];
    servers.set(tool.server ?? null, known);
    known.push({ name: tool.name, called: merges.statisticsOf(record).called });
    for (const tag of new Set(tool.tags)) domains.set(tag, (domains.get(tag) ?? 0) + 1);
  }
  const summary = {
    tools: tools.servedSize,
    servers: [...servers]
      .map(([server, tools]) => ({ server, tools: tools.length, examples: examplesOf(tools) }))
      .sort((a, b) => b.tools - a.tools || compare(a.server ?? '', b.server ?? ''))
      .slice(0, MOST_SERVERS),
    domains: [...domains]
      .map(([domain, tools]) => ({ domain, tools }))
      .sort((a, b) => b.tools - a.tools || compare(a.domain, b.domain))
      .slice(0, MOST_DOMAINS),
  };
  const all = servers.size + domains.size;
  for (;;) {
    const { servers: shown, domains: named } = summary;
    const cut = { ...summary, more: all - shown.length - named.length };
    if (shown.length + named.length === 0 || counter.count(JSON.stringify(cut)) <= tokenBudget) return cut;
    if (named.length >= shown.length) named.pop();
    else shown.pop();
  }
}

function examplesOf(tools: { name: string; called: number }[]): string[] {
  tools.sort((a, b) => b.called - a.called || compare(a.name, b.name));
  return tools.slice(0, EXAMPLES).map(({ name }) => name);
}

/** Of one order on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
