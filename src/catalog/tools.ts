import { randomUUID } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { ForgetEntry } from '../ledger/entry.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { inSlices, type Steps } from '../scheduling/slices.ts';
import { sumOfStatistics, type ToolRecord, type ToolStatistics } from '../state/tool-table.ts';
import type { Catalog } from './catalog.ts';
import type { Catalogs } from './catalogs.ts';
import { patchTools, syncTools, type ToolChanges } from './change-tools.ts';
import type { ChangeOptions } from './conditional-change.ts';
import { afterOf, PAGE_LENGTH } from './page.ts';

/** The tools of catalogs, by name. Everything here throws Problem catalog-not-found. */
export class Tools {
  readonly #catalogs: Catalogs;

  constructor(catalogs: Catalogs) {
    this.#catalogs = catalogs;
  }

  sync(catalog: string, tools: readonly ToolDefinition[], options: ChangeOptions = {}): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => syncTools(open, tools, options));
  }

  patch(
    catalog: string,
    {
      put = [],
      remove = [],
    }: { readonly put?: readonly ToolDefinition[]; readonly remove?: readonly string[] },
    options: ChangeOptions = {},
  ): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => patchTools(open, put, remove, options));
  }

  /** @throws Problem tool-not-found */
  remove(catalog: string, name: string, options: ChangeOptions = {}): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => {
      return patchTools(open, [], [getTool(open, name).tool.name], options);
    });
  }

  list(catalog: string, page: { readonly limit: number; readonly cursor?: string }): Promise<ToolPage> {
    return this.#catalogs.holding(catalog, (open) => listTools(open, page.limit, page.cursor));
  }

  /** @throws Problem tool-not-found */
  get(catalog: string, name: string): ToolRecord {
    return getTool(this.#catalogs.get(catalog), name);
  }

  /** @throws Problem tool-not-found */
  statistics(catalog: string, name: string): ToolStatistics & { readonly name: string } {
    return toolStatistics(this.#catalogs.get(catalog), name);
  }

  /** The tools that were called, in this order; and all tools together. */
  standing(catalog: string, { order, limit }: StandingQuery): Standing {
    return standing(this.#catalogs.get(catalog), order, limit);
  }

  /** Erases what was learned about a tool; the tool stays. @throws Problem tool-not-found */
  forget(catalog: string, name: string): Promise<Forgotten> {
    return this.#catalogs.holding(catalog, (open) => forgetTool(open, name));
  }
}

export interface ToolPage {
  readonly revision: string;
  readonly tools: readonly ToolRecord[];
  readonly nextCursor: string | null;
}

/**
 * Live tools by name, at most `limit` of them. The cursor is the last name of the page before, so that changes in
 * between do no harm.
 */
export async function listTools(catalog: Catalog, limit: number, cursor?: string): Promise<ToolPage> {
  const after = afterOf(cursor);
  const names = [...catalog.state.tools.live()].map(({ tool }) => tool.name).filter((name) => name > after);
  const page = names.sort().slice(0, limit);
  const records = page.map((name) => getTool(catalog, name));
  const { revision } = catalog.state;
  const tools = await inSlices(firstThatFit(records));
  const last = tools.at(-1)?.tool.name;
  const isLast = last === undefined || names.length === tools.length;
  return { revision, tools, nextCursor: isLast ? null : Buffer.from(last).toString('base64url') };
}

function* firstThatFit(records: readonly ToolRecord[]): Steps<ToolRecord[]> {
  const fit: ToolRecord[] = [];
  let length = 0;
  for (const record of records) {
    length += JSON.stringify(record.tool).length;
    if (length > PAGE_LENGTH && fit.length > 0) break;
    fit.push(record);
    yield;
  }
  return fit;
}

/** @param named its name or its provider name. @throws Problem tool-not-found */
export function getTool(catalog: Catalog, named: string): ToolRecord {
  const name = catalog.state.tools.nameOf(named);
  const record = catalog.state.tools.get(name);
  if (record !== undefined) return record;
  const removed = catalog.state.tools.find(name);
  throw new Problem(
    'tool-not-found',
    removed === undefined
      ? `Catalog "${catalog.name}" has no tool "${name}".`
      : `Tool "${name}" was removed on ${new Date(removed.removedAt ?? 0).toISOString()}.`,
    removed === undefined
      ? `List its tools with GET /v1/catalogs/${catalog.name}/tools.`
      : 'Put it again to bring it back with everything that was learned about it.',
  );
}

function toolStatistics(catalog: Catalog, name: string): ToolStatistics & { readonly name: string } {
  const record = getTool(catalog, name);
  return { name: record.tool.name, ...catalog.state.merges.statisticsOf(record) };
}

/** `best` and `worst` by the share of calls that succeeded, as if there had been one success and one failure more. */
export const STANDING_ORDERS = ['called', 'shown', 'best', 'worst', 'timeouts'] as const;

export interface StandingQuery {
  readonly order: (typeof STANDING_ORDERS)[number];
  readonly limit: number;
}

/** How the tools of a catalog have done. */
export interface Standing {
  /** Live tools, and how many of them were ever called. */
  readonly tools: number;
  readonly called: number;
  readonly total: ToolStatistics;
  /** Only tools that were shown; for `best` and `worst` only those with an outcome. */
  readonly standing: readonly (ToolStatistics & { readonly name: string })[];
}

function standing({ state }: Catalog, order: StandingQuery['order'], limit: number): Standing {
  // Merged tools stand together, as they are served, and are counted once.
  const all = [...state.tools.servedTools()].map((record) => ({
    name: record.tool.name,
    ...state.merges.statisticsOf(record),
  }));
  const total = sumOfStatistics(all);
  const rate = ({ successes, failures }: ToolStatistics): number =>
    (successes + 1) / (successes + failures + 2);
  const byRate = order === 'best' || order === 'worst';
  const value = (one: ToolStatistics): number =>
    byRate ? rate(one) * (order === 'best' ? 1 : -1) : one[order];
  const counted = all.filter(({ shown, called, successes, failures }) =>
    byRate ? successes + failures > 0 : shown + called > 0,
  );
  const sorted = counted.sort(
    (a, b) => value(b) - value(a) || b.called - a.called || (a.name < b.name ? -1 : 1),
  );
  const called = all.filter((one) => one.called > 0).length;
  return { tools: all.length, called, total, standing: sorted.slice(0, limit) };
}

/** How much was erased: tools, instructions or remembered cases, the last over all versions of the policy. */
export interface Forgotten {
  readonly forgotten: number;
}

/** Erases what was learned about a tool; the tool stays. @throws Problem tool-not-found */
export function forgetTool(catalog: Catalog, name: string): Promise<Forgotten> {
  return forget(catalog, { tool: getTool(catalog, name).tool.name });
}

/** Erases what was learned about a tool, of an instruction or from a unit, by an entry. */
export async function forget(
  catalog: Catalog,
  what: Pick<ForgetEntry, 'tool' | 'instruction' | 'unit'>,
): Promise<Forgotten> {
  const key = `forget/${randomUUID()}`;
  const outcome = await catalog.replica.submit({ kind: 'forget', key, at: catalog.now(), ...what });
  return { forgotten: outcome.kind === 'forget' ? outcome.forgotten : 0 };
}
