import { createHash, randomUUID } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { Outcome, TaughtCase } from '../ledger/entry.ts';
import { API_SOURCE } from '../ledger/tool-definition.ts';
import { unitKey, unitNumber } from '../ledger/unit.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { ToolRecord, ToolTable } from '../state/tool-table.ts';
import type { Catalog } from './catalog.ts';
import type { Catalogs } from './catalogs.ts';
import { refusingUnusable } from './embedders.ts';

/** What was asked for somewhere else than here, and what became of the tools that were called for it. */
export interface PastCase {
  /** The same id is taught once. */
  readonly id: string;
  readonly query: string;
  readonly calls: readonly PastCall[];
  readonly unitId?: string;
}

export interface PastCall {
  /** Name of the tool here, its provider name, or what an MCP client calls it: `mcp__<server>__<tool>`. */
  readonly tool: string;
  readonly outcome: Outcome;
  /** 0…1; absent: what the outcome is worth. */
  readonly value?: number;
}

export interface TaughtCases {
  /** How many were taught, or would be. */
  readonly taught: number;
  /** How many were taught before. */
  readonly known: number;
  /** How many call no tool of the catalog with an outcome that teaches. */
  readonly nothingToTeach: number;
  /** Calls of tools of the catalog, and of others, the most frequent first. */
  readonly tools: readonly CalledTool[];
  readonly unknownTools: readonly CalledTool[];
}

export interface CalledTool {
  readonly name: string;
  readonly calls: number;
  readonly successes: number;
}

/** What outcomes are worth; the others say nothing about whether the tool was right. */
const WORTH: Partial<Record<Outcome, number>> = { success: 1, partial: 0.5, failure: 0 };

const MAX_ATTEMPTS = 4;

/** Cases that catalogs are taught. */
export class Cases {
  readonly #catalogs: Catalogs;

  constructor(catalogs: Catalogs) {
    this.#catalogs = catalogs;
  }

  /** @throws Problem catalog-not-found, unavailable */
  teach(
    catalog: string,
    cases: readonly PastCase[],
    options: { readonly dryRun?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<TaughtCases> {
    return this.#catalogs.holding(catalog, (open) => teachCases(open, cases, options));
  }
}

/**
 * Teaches the memory of a catalog. Texts are not kept: the entry has the vector and the hashed words of a query, as those of decisions do.
 * @throws Problem unavailable
 */
export async function teachCases(
  catalog: Catalog,
  cases: readonly PastCase[],
  { dryRun = false, signal }: { readonly dryRun?: boolean; readonly signal?: AbortSignal },
): Promise<TaughtCases> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { tools, fingerprint, taughtCases } = catalog.state;
    const resolved = resolve(cases, tools);
    const fresh = resolved.cases.filter(({ id, outcomes }) => outcomes.length > 0 && !taughtCases.has(id));
    const repeated = cases.length - resolved.cases.length;
    const known = repeated + resolved.cases.filter(({ id }) => taughtCases.has(id)).length;
    const found = {
      taught: fresh.length,
      known,
      nothingToTeach: cases.length - fresh.length - known,
      tools: resolved.tools,
      unknownTools: resolved.unknownTools,
    };
    if (dryRun || fresh.length === 0) return found;
    const embeddings = await embedQueries(catalog, fresh, signal);
    const outcome = await catalog.replica.submit({
      kind: 'cases',
      key: `cases/${randomUUID()}`,
      at: catalog.now(),
      fingerprint,
      cases: fresh.map(({ query, ...rest }, at) => ({
        ...rest,
        embedding: embeddings[at],
        terms: catalog.index.queryTerms({ text: query, tokens: tokenise(query) }),
      })),
    });
    if (outcome.kind === 'cases') return { ...found, taught: outcome.taught, known: known + outcome.known };
  }
  throw new Problem(
    'unavailable',
    'The catalog moved to another embedding model meanwhile.',
    'Send the cases again: what was taught is not taught twice.',
    { retryAfterSeconds: 1 },
  );
}

/** A case without vectors. */
type Resolved = Omit<TaughtCase, 'embedding' | 'terms'> & { readonly query: string };

function resolve(
  cases: readonly PastCase[],
  table: ToolTable,
): Omit<TaughtCases, 'taught' | 'known' | 'nothingToTeach'> & { readonly cases: readonly Resolved[] } {
  const nameOf = toolFinder(table);
  const called = new Map<string, { calls: number; successes: number }>();
  const unknown = new Map<string, { calls: number; successes: number }>();
  const seen = new Set<string>();
  const resolved = cases.flatMap(({ id: theirs, query, calls, unitId }) => {
    const id = createHash('sha256').update(theirs).digest('hex').slice(0, 16);
    if (seen.size === seen.add(id).size) return [];
    const best = new Map<string, number>();
    for (const { tool, outcome, value = WORTH[outcome] } of calls) {
      const name = nameOf(tool);
      const counts = name === null ? unknown : called;
      const count = counts.get(name ?? tool) ?? { calls: 0, successes: 0 };
      counts.set(name ?? tool, count);
      count.calls++;
      if (outcome === 'success') count.successes++;
      // A call that was mended and sent again says that the tool was right.
      if (name !== null && value !== undefined) best.set(name, Math.max(value, best.get(name) ?? 0));
    }
    const outcomes = [...best].map(([tool, value]) => ({ tool, value }));
    const unit = unitId === undefined ? 0 : unitNumber(unitKey(unitId));
    return [{ id, query, outcomes, unit }];
  });
  return { cases: resolved, tools: byCalls(called), unknownTools: byCalls(unknown) };
}

function byCalls(counts: ReadonlyMap<string, Omit<CalledTool, 'name'>>): CalledTool[] {
  const all = [...counts].map(([name, count]) => ({ name, ...count }));
  return all.sort((one, other) => other.calls - one.calls || (one.name < other.name ? -1 : 1));
}

/** What clients make of a name: signs other than these become `_`. */
const asClientsWrite = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_');
const MCP_CALL = /^mcp__(.+?)__(.+)$/;

/**
 * Returns what finds the tool that a transcript names: by its name or provider name, or by its server and the name that it has there.
 * A name that could be several tools is none.
 */
function toolFinder(table: ToolTable): (called: string) => string | null {
  const byKey = new Map<string, string | null>();
  const add = (key: string, name: string): void => {
    byKey.set(key, byKey.has(key) && byKey.get(key) !== name ? null : name);
  };
  for (const record of table.live()) {
    const { name } = record.tool;
    add(asClientsWrite(name), name);
    for (const server of serversOf(record)) {
      const short = name.startsWith(`${server}.`) ? name.slice(server.length + 1) : name;
      add(asClientsWrite(`${server}__${record.nameThere ?? short}`), name);
    }
  }
  return (called) => {
    const named = table.get(table.nameOf(called))?.tool.name;
    if (named !== undefined) return named;
    const [, server, short] = MCP_CALL.exec(called) ?? [];
    const keys = server === undefined ? [called] : [`${server}__${short}`, `${server}_${short}`, short];
    for (const key of keys) {
      const name = byKey.get(asClientsWrite(key)) ?? null;
      if (name === null) continue;
      const owners = serversOf(table.get(name)!).map(asClientsWrite);
      // A tool of another server may have the same name.
      if (key === short && owners.length > 0 && !owners.includes(server)) continue;
      return name;
    }
    return null;
  };
}

/** Returns what a client may call the server of a tool: as the tool says, and as its source is called here. */
function serversOf({ tool: { server }, source }: ToolRecord): string[] {
  const names = [server, source === API_SOURCE ? undefined : source];
  return [...new Set(names.filter((name) => name !== undefined))];
}

async function embedQueries(
  { embedder, embedderDown }: Catalog,
  cases: readonly Resolved[],
  signal: AbortSignal | undefined,
): Promise<readonly (Float32Array | null)[]> {
  if (embedderDown) {
    throw new Problem(
      'unavailable',
      'The embedding model of the catalog cannot be asked now.',
      'Try again when it answers: cases are compared by their vectors.',
      { retryAfterSeconds: 10 },
    );
  }
  if (embedder === null) return cases.map(() => null);
  return refusingUnusable(() =>
    embedder.embedQueries(
      cases.map(({ query }) => query),
      signal,
    ),
  );
}
