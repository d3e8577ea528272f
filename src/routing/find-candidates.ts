import type { Candidates, Recall } from '../../bandit/policy.ts';
import { pooledRecall } from '../../bandit/pooled-recall.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { pinnedNow } from '../catalog/pins.ts';
import type { Fallback } from '../decisions/decision.ts';
import type { SlateMethod } from '../ledger/catalog-settings.ts';
import type { Origin, Shortlist } from '../retrieval/shortlist.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { ToolTable } from '../state/tool-table.ts';
import type { Carried } from './carried.ts';
import { domainOf } from './domain-of.ts';
import type { RouteRequest } from './route-request.ts';
import { toolscopeScores, toolsOfSubQueries } from './toolscope-slate.ts';
import { scoresBySlot, type UnderstoodQuery } from './understand-query.ts';

/** Tools that retrieval proposes; outcome memory adds up to ten that retrieval did not find. */
const RETRIEVED = 50;
/** A slate that passes the whole catalog through is cut here. */
const PASSTHROUGH_LIMIT = 1000;

export const EMPTY_CATALOG =
  'This catalog has no tools yet: put some with `bandolier import`, or PUT /v1/catalogs/{catalog}/tools';

export interface Found {
  readonly candidates: Candidates;
  readonly origins: readonly Origin[];
  /** Slots of the tools that were served before and still are: they are in their places, whatever `k` is. */
  readonly carried: readonly number[];
  /** Of the query; null: none. */
  readonly domain: string | null;
  /** Slots of the other pinned tools that fit in: those of the request, then those of the catalog. */
  readonly pinned: readonly number[];
  /** Pins that could not be served, in words. */
  readonly notes: readonly string[];
  readonly fallback: Fallback | null;
  /** Scores of the candidates by which the slate is chosen in place of the policy's; null: the policy chooses. */
  readonly toolscope: Float64Array | null;
  /** Nothing fitted, and the catalog's fail mode chose these slots, in this order; null: the policy chooses. */
  readonly served: readonly number[] | null;
}

/** Everything that may be in the slate at this time, with the retrieval scores that the policy ranks by. */
export function findCandidates(
  request: RouteRequest,
  query: UnderstoodQuery,
  recall: Recall,
  catalog: Pick<Catalog, 'state' | 'index'>,
  at: number,
  before: Carried | undefined,
  method: SlateMethod,
): Found {
  const { tools, merges, settings } = catalog.state;
  const exclude = new Set(slotsOf(request.exclude, tools));
  const names = before?.tools.map(({ name }) => name);
  const carried = slotsOf(names, tools).filter(
    (slot) => !exclude.has(slot) && merges.representativeOf(slot) === slot,
  );
  const domain = domainOf(query, catalog.state);
  const { pinned, notes: unpinned } = pinsOf(
    request,
    catalog.state,
    new Set([...exclude, ...carried]),
    at,
    domain,
  );
  const notes = tools.size === 0 ? [...unpinned, EMPTY_CATALOG] : unpinned;
  const rerank = query.rerank === null ? undefined : scoresBySlot(query.rerank, tools.servedTools());
  const nominating = pooledRecall(recall, merges);
  const { parts, withContext, used, memos, searched } = query;
  // With what a user has it is a query of that user alone: nothing of it is kept for others.
  const isOfUser = withContext !== undefined || (used !== undefined && used.size > 0);
  const search = (limit: number, more: readonly number[]): Shortlist => {
    const { candidates, origins } = catalog.index.search({
      embedding: query.features.embedding,
      tokens: query.tokens,
      parts: withContext === undefined ? parts : [...parts, withContext],
      used,
      memo: isOfUser ? undefined : memos?.tools,
      searched,
      rerank,
      limit,
      recall: nominating,
      pin: more,
      exclude,
    });
    return { candidates: merges.size === 0 ? candidates : { ...candidates, pools: merges }, origins };
  };

  const chosen = method === 'policy' ? null : toolscopeScores(toolsOfSubQueries(query, catalog, exclude));
  const always = [...carried, ...pinned];
  const { candidates, origins } = search(RETRIEVED, [
    ...always,
    ...(chosen === null ? [] : bestOf(chosen, request.k + always.length)),
  ]);
  const toolscope = chosen && Float64Array.from(candidates.slots, (slot) => chosen.get(slot) ?? 0);
  const fallback = query.embedderDown ? 'embedder_down' : null;
  // Nothing in the query means anything to this catalog, and nothing like it was ever rewarded.
  const blind = isBlind(candidates) && !origins.includes('remembered');
  if (!blind) {
    return { candidates, origins, carried, domain, pinned, notes, toolscope, fallback, served: null };
  }

  const fallbackSlots = {
    open: () => mostReliable(catalog.state, request.k, exclude),
    closed: () => [],
    passthrough: () => everyTool(tools, exclude).slice(0, PASSTHROUGH_LIMIT),
  }[settings.failMode]();
  const served = [...new Set([...carried, ...pinned, ...fallbackSlots])];
  const limited = settings.failMode === 'passthrough' ? served : served.slice(0, carried.length + request.k);
  return {
    ...search(0, limited),
    carried,
    domain,
    pinned,
    notes,
    toolscope: null,
    fallback: fallback ?? 'low_confidence',
    served: limited,
  };
}

/** Returns whether no word and no vector of the query touches a tool. A vector may, though all have the same score: of one tool alone. */
function isBlind({ base, similarity }: Candidates): boolean {
  return base.every((score) => score === 0) && similarity.every((cosine) => cosine === 0);
}

/** Slots with the largest scores; of equals the lower one. */
function bestOf(scores: ReadonlyMap<number, number>, count: number): number[] {
  const order = [...scores].sort(([slot, score], [other, more]) => more - score || slot - other);
  return order.slice(0, count).map(([slot]) => slot);
}

/** Slots of the tools whose calls succeed most often, (successes + 1)/(called + 2); of equals the lower slot. */
function mostReliable(
  { tools, merges }: CatalogState,
  count: number,
  exclude: ReadonlySet<number>,
): number[] {
  return [...tools.servedTools()]
    .filter(({ slot }) => !exclude.has(slot))
    .map((record) => {
      const { successes, called } = merges.statisticsOf(record);
      return { slot: record.slot, rate: (successes + 1) / (called + 2) };
    })
    .sort((a, b) => b.rate - a.rate || a.slot - b.slot)
    .slice(0, count)
    .map(({ slot }) => slot);
}

function everyTool(tools: ToolTable, exclude: ReadonlySet<number>): number[] {
  return [...tools.servedTools()].map(({ slot }) => slot).filter((slot) => !exclude.has(slot));
}

const NO_PINS: Pick<Found, 'pinned' | 'notes'> = { pinned: [], notes: [] };

/** The request's pins and after them the catalog's for the domain of its query, at most `k` of them. */
function pinsOf(
  { k, pin = [] }: RouteRequest,
  { tools, merges, settings }: CatalogState,
  exclude: ReadonlySet<number>,
  at: number,
  domain: string | null,
): Pick<Found, 'pinned' | 'notes'> {
  if (pin.length === 0 && settings.pins.length === 0) return NO_PINS;
  const names = [...new Set([...pin, ...pinnedNow(settings.pins, at, domain)])];
  // Of a merge the representative is served, whichever member is pinned.
  const served = new Set(slotsOf(names, tools).map((slot) => merges.representativeOf(slot)));
  const pinned = [...served].filter((slot) => !exclude.has(slot));
  const unknown = names.filter((name) => tools.get(tools.nameOf(name)) === undefined);
  const left = pinned.slice(k).map((slot) => `"${tools.atSlot(slot)!.tool.name}"`);
  return {
    pinned: pinned.slice(0, k),
    notes: [
      ...unknown.map((name) => `Not pinned: "${name}" is no tool of this catalog`),
      ...(left.length === 0
        ? []
        : [`Not pinned: ${left.join(', ')}; k is ${k} and the pins before take it up`]),
    ],
  };
}

function slotsOf(names: readonly string[] | undefined, tools: ToolTable): number[] {
  if (names === undefined || names.length === 0) return [];
  const slots = names.map((name) => tools.get(tools.nameOf(name))?.slot);
  return [...new Set(slots.filter((slot) => slot !== undefined))];
}
