import type { ItemUsage } from '../../bandit/ranking/usage-signals.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type AnsweredItem, answeredItem } from '../context/answered-item.ts';
import type { ChosenItem } from '../context/choose-context.ts';
import type { Moment } from '../context/context-candidates.ts';
import type { RouteContexts, RouteUser } from '../context/route-contexts.ts';
import type { LoadedContext } from '../context/user-contexts.ts';
import type { DecisionContext } from '../decisions/decision.ts';
import { itemText } from '../instructions/assemble-prompt.ts';
import { type SearchedText, SearchedTexts } from '../retrieval/searched-texts.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { contextQueryOf, type ExpandedQuery } from './expand-query.ts';
import { maxContext, type RouteRequest } from './route-request.ts';
import type { TokenCosts } from './token-costs.ts';
import type { UnderstoodQuery } from './understand-query.ts';

/** Tools that look right from the query alone: how many, and the temperature of the softmax of their cosines. As in bench/context.ts. */
const TOOLS = 5;
const TEMPERATURE = 0.05;
/** What items may take of a token budget: the rest is for tools and instructions. */
const BUDGET_SHARE = 0.25;
/**
 * What items count where tools are searched for, chosen on the validation part of bench/context-tools.ts such that queries that say all that
 * they want find their tools nearly as well as without. `items`: beside the vector of the query, which counts 1, so much times the
 * probability of the likeliest. `least`: from this probability on. `uses`: that a tool was used with them.
 */
const WEIGHTS = { items: 0.5, least: 0.5, uses: 1.5 };

/** What a route has of its user. */
export interface QueryContext {
  /** Absent: it could not be read. */
  readonly kept?: DecisionContext;
  readonly answered?: readonly AnsweredItem[];
  /** What tools are searched for by beside the query, where an item was chosen, and what was found for the query itself. */
  readonly search?: Pick<UnderstoodQuery, 'withContext' | 'used' | 'searched'>;
  readonly notes: readonly string[];
}

interface ContextQuestion {
  readonly id: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly request: RouteRequest;
  readonly query: UnderstoodQuery;
  /** Undefined: the catalog has no query expanded. */
  readonly expanded: ExpandedQuery | undefined;
  /** Absent: no tokens are counted. */
  readonly costs?: TokenCosts;
}

/** Chooses what of the user's items the query needs, before tools are searched for. Null: nothing is kept of the user. */
export function contextOf(
  { id, at, request, query, expanded, costs }: ContextQuestion,
  read: RouteUser,
  contexts: RouteContexts,
  catalog: Pick<Catalog, 'index' | 'state'>,
): QueryContext | null {
  if (read === null) return null;
  if ('note' in read) return { notes: [read.note] };
  const { user } = read;
  const { place = null, utcOffsetMinutes = 0 } = request;
  const searched = new SearchedTexts();
  const tools = likelyTools({ ...query, searched }, catalog);
  const moment: Moment = { now: at, place, utcOffsetMinutes, tools };
  const thought = expanded != null && 'tokens' in expanded ? expanded : null;
  const asked = contextQueryOf(query, thought);
  const all = contexts.choose(user, asked, moment, maxContext(request));
  const answered = all.map((item) => answeredItem(item, item, utcOffsetMinutes));
  const tokens =
    costs === undefined ? undefined : answered.map((item) => costs.counter.count(itemText(item)));
  const chosen = fitting(all, tokens, request.tokenBudget);
  const left = all.length - chosen.length;
  return {
    kept: {
      ...contexts.keep(user, chosen, moment, id),
      ...(tokens !== undefined && { tokens: tokens.slice(0, chosen.length) }),
      ...(expanded !== undefined && { expanded: thought !== null }),
    },
    answered: answered.slice(0, chosen.length),
    search: { searched, ...(chosen.length > 0 && searchOf(user, query, chosen, catalog.state)) },
    notes: [
      ...(expanded != null && 'note' in expanded ? [expanded.note] : []),
      ...(left === 0 ? [] : [notServed(left)]),
    ],
  };
}

function searchOf(
  user: LoadedContext,
  { features: { embedding }, tokens }: UnderstoodQuery,
  chosen: readonly ChosenItem[],
  state: Catalog['state'],
): QueryContext['search'] {
  const withContext = extended({ embedding, tokens }, chosen);
  return {
    used: usedTools(user, chosen, slotIn(state)),
    ...(withContext !== null && { withContext }),
  };
}

/** Finds the slot by which a tool is served; a tool that is gone has none. */
function slotIn({ tools, merges }: Catalog['state']) {
  return (name: string): number | undefined => {
    const known = tools.get(tools.nameOf(name));
    return known && merges.representativeOf(known.slot);
  };
}

/** Says that so many items were left out. */
export function notServed(items: number): string {
  return `Not served for the token budget: ${items} of the items of the user's context`;
}

/** The best, as long as they fit. */
function fitting(
  chosen: readonly ChosenItem[],
  tokens: readonly number[] | undefined,
  budget: number | undefined,
): readonly ChosenItem[] {
  if (budget === undefined || tokens === undefined) return chosen;
  let room = BUDGET_SHARE * budget;
  const end = tokens.findIndex((own) => {
    room -= own;
    return room < 0;
  });
  return end < 0 ? chosen : chosen.slice(0, end);
}

function likelyTools(
  { features: { embedding }, tokens, parts, memos, searched }: UnderstoodQuery,
  { index, state }: Pick<Catalog, 'index' | 'state'>,
): ReadonlyMap<string, number> {
  if (embedding === null) return new Map();
  const { candidates } = index.search({
    ...{ embedding, tokens, parts, searched },
    memo: memos?.tools,
    limit: TOOLS,
  });
  const { slots, similarity } = candidates;
  const best = Math.max(...similarity);
  const weights = similarity.map((cosine) => Math.exp((cosine - best) / TEMPERATURE));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new Map(
    Array.from(slots, (slot, at) => [state.merges.served(slot)!.tool.name, weights[at] / total]),
  );
}

interface UsedItems {
  readonly signals: { of(item: string): ItemUsage | undefined };
}

/**
 * Returns how likely each tool goes with what the query needs, by slot, 0…1: 1 − Π(1 − min(1, w·p·s)) over the items, p the
 * probability that the item is needed, s the share of its uses that went to the tool.
 */
export function usedTools(
  { signals }: UsedItems,
  chosen: readonly Pick<ChosenItem, 'id' | 'score'>[],
  slotOf: (tool: string) => number | undefined,
  { uses: weight } = WEIGHTS,
): Map<number, number> {
  const used = new Map<number, number>();
  for (const { id, score } of chosen) {
    const usage = signals.of(id);
    if (usage === undefined) continue;
    for (const [name, uses] of usage.tools) {
      const slot = slotOf(name);
      if (slot === undefined) continue;
      const likely = Math.min(1, (weight * score * uses) / usage.uses);
      used.set(slot, 1 - (1 - (used.get(slot) ?? 0)) * (1 - likely));
    }
  }
  return used;
}

/**
 * Returns the query with the words of the likeliest items, and its vector turned to them: their own vectors are of the same embedder.
 * Null: none is likely enough.
 */
export function extended(
  { embedding, tokens }: SearchedText,
  chosen: readonly Pick<ChosenItem, 'text' | 'score' | 'vector'>[],
  { items, least } = WEIGHTS,
): SearchedText | null {
  const sure = chosen.filter(({ score }) => score >= least);
  if (sure.length === 0) return null;
  const words = [tokens, ...sure.map(({ text }) => tokenise(text))];
  const all = new Uint32Array(words.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const own of words) {
    all.set(own, end);
    end += own.length;
  }
  return { tokens: all, embedding: embedding && turned(embedding, sure, items) };
}

function turned(
  embedding: Float32Array,
  chosen: readonly Pick<ChosenItem, 'score' | 'vector'>[],
  most: number,
): Float32Array {
  const total = chosen.reduce((sum, { score }) => sum + score, 0);
  const sum = Float64Array.from(embedding);
  for (const { vector, score } of chosen) {
    if (vector === null) continue;
    const weight = (most * chosen[0].score * score) / total;
    for (let j = 0; j < sum.length; j++) sum[j] += weight * vector[j];
  }
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (value) => (length > 0 ? value / length : 0));
}
