import type { Catalog } from '../catalog/catalog.ts';
import type { QueryExpansions } from '../context/query-expansions.ts';
import type { RouteContexts } from '../context/route-contexts.ts';
import { type Decision, withoutDiscoveries } from '../decisions/decision.ts';
import { decisionIdFor } from '../decisions/decision-id.ts';
import type { DecisionLog, DecisionLogs } from '../decisions/decision-log.ts';
import { LostNamesError } from '../decisions/decision-names.ts';
import { Problem } from '../errors/problem.ts';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { type AssignedVariant, assign } from '../experiments/assign.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import { readCarried, threadOf } from './carried.ts';
import { decide, type Question } from './decide.ts';
import { expandQuery } from './expand-query.ts';
import { contextOf, notServed } from './query-context.ts';
import { ofSameRequest, requestDigest } from './repeated-request.ts';
import { answerOf, type RouteAnswer } from './route-answer.ts';
import { countsTokens, maxContext, maxInstructions, type RouteRequest } from './route-request.ts';
import type { ShadowRanking } from './shadow-ranking.ts';
import type { TokenCosts } from './token-costs.ts';
import { slateMethodFor } from './toolscope-slate.ts';
import { comparable, readQuery, waitsForModels } from './understand-query.ts';
import type { UnderstoodQueries } from './understood-queries.ts';

/** What routing needs beside the catalog. */
export interface RoutingParts {
  readonly queries: UnderstoodQueries;
  readonly decisionLogs: DecisionLogs;
  readonly exposures: ExposureRecorder;
  readonly shadows: ShadowRanking;
  readonly costs: TokenCosts;
  readonly contexts: RouteContexts;
  readonly expansions: QueryExpansions;
  /** Names of tools that cannot be called now, since their servers are down: they are in no slate. */
  unavailable(catalog: string): readonly string[];
  /** ms since the epoch. */
  now(): number;
}

export interface RouteOptions {
  /** The same key with the same request is answered with the same decision. */
  readonly idempotencyKey?: string | undefined;
  /** Aborts when the client hangs up: no model is asked and no decision is made then. Read only where a model has to be waited for. */
  readonly signal?: AbortSignal;
}

export interface Routed {
  readonly decision: Decision;
  readonly answer: RouteAnswer;
}

/**
 * The way of one query: understand it, decide (find candidates, rank, select the slate, record the decision), keep the
 * decision, count it in experiments, answer. Nothing in here learns.
 *
 * @throws Problem idempotency-conflict, decision-expired, validation-failed; StoreUnavailableError; the reason of `signal`
 */
export async function routeQuery(
  request: RouteRequest,
  catalog: Catalog,
  parts: RoutingParts,
  options: RouteOptions = {},
): Promise<Routed> {
  const { idempotencyKey } = options;
  const id = decisionIdFor(catalog.name, parts.now(), idempotencyKey);
  const log = await parts.decisionLogs.open(catalog.name);
  const digest = idempotencyKey === undefined ? undefined : requestDigest(idempotencyKey, request);
  // A request that is repeated gets the same answer, whatever was discovered since.
  const again = async (earlier: Decision): Promise<Routed> => {
    const decision = ofSameRequest(earlier, digest);
    return { decision, answer: await answerAgain(withoutDiscoveries(decision), catalog, parts) };
  };
  const earlier = digest === undefined ? null : await log.get(id);
  if (earlier !== null) return again(earlier);

  const asked = readQuery(request);
  const reading = maxContext(request) > 0 ? parts.contexts.read(catalog.name, request.userId!) : null;
  const isExpanded = reading !== null && catalog.state.settings.contextExpansion === 'chat';
  const signal = isExpanded || waitsForModels(catalog) ? options.signal : undefined;
  const expanding = isExpanded
    ? expandQuery(asked.searched, catalog, reading, parts.expansions, signal)
    : undefined;
  // It is waited for below. A failure until then is that of the request, and not of the process.
  expanding?.catch(() => {});
  const understood = await parts.queries.understand(asked, catalog, {
    slate: slateMethodFor(request, catalog.state.settings),
    instructions: maxInstructions(request) > 0,
    signal,
  });

  const thread = threadOf(request);
  const carried = thread === undefined ? undefined : await readCarried(thread, log).catch(unread);
  if (countsTokens(request)) await parts.costs.countAll(catalog.state, request.format);
  const user = reading === null ? null : await reading;
  const expanded = await expanding;
  signal?.throwIfAborted();

  // From here to the log in one turn of the event loop, on one state.
  const plain = comparable(understood, catalog.state);
  const away = catalog.state.merges.unservable(parts.unavailable(catalog.name));
  const at = parts.now();
  const costs = countsTokens(request) ? parts.costs : undefined;
  const context = contextOf(
    { id, at, request, query: plain, expanded, costs },
    user,
    parts.contexts,
    catalog,
  );
  const notes = [...(context?.notes ?? []), ...(carried === 'unread' ? [UNREAD] : [])];
  // What is absent is undefined, so that all questions have one shape: what reads it reads it often.
  const question: Question = {
    id,
    at,
    request: away.length === 0 ? request : { ...request, exclude: [...(request.exclude ?? []), ...away] },
    text: asked.text,
    query: context === null ? plain : { ...plain, ...context.search },
    costs,
    carried: carried === 'unread' ? undefined : carried,
    context: context?.kept,
    notes: notes.length > 0 ? notes : undefined,
  };
  const assignment = assign(request, id, catalog.state);
  const { assigned } = assignment;
  const { asked: decidedOn, decided } = decideWithin(question, catalog, assigned);
  const decision = digest === undefined ? decided : { ...decided, request: digest };
  if (!(await log.append(decision))) return again(await firstOf(id, log));

  parts.exposures.leaveOut(catalog, assignment);
  if (assigned !== null) parts.exposures.decide(catalog, assigned.assignment);
  if (decision.activation === 'now') expose(decision, catalog, parts);
  parts.shadows.rank(decidedOn, decision, catalog);
  const served = context?.answered?.slice(0, decision.context?.items.length);
  return { decision, answer: answerOf(decision, catalog.state, parts.costs, served) };
}

/** Decides; where the budget is too small for what has to be served beside what the user has, without that. */
function decideWithin(
  asked: Question,
  catalog: Catalog,
  assigned: AssignedVariant | null,
): { readonly asked: Question; readonly decided: Decision } {
  const { context, notes = [] } = asked;
  try {
    return { asked, decided: decide(asked, catalog, assigned) };
  } catch (error) {
    const isCrowded = error instanceof Problem && error.code === 'budget-too-small';
    if (!isCrowded || context === undefined || context.items.length === 0) throw error;
    const less = {
      ...asked,
      context: { ...context, items: [], tokens: [] },
      notes: [...notes, notServed(context.items.length)],
    };
    return { asked: less, decided: decide(less, catalog, assigned) };
  }
}

/** Answers a decision again: what its user had is read again, and may be gone. */
async function answerAgain(
  decision: Decision,
  { state }: Catalog,
  { contexts, costs }: Pick<RoutingParts, 'contexts' | 'costs'>,
): Promise<RouteAnswer> {
  const { context, notes = [] } = decision;
  if (context === undefined) return answerOf(decision, state, costs);
  const { items, note } = await contexts.again(decision);
  const tokens = context.tokens?.filter((_, at) => items.has(at));
  const kept = { ...context, ...(tokens !== undefined && { tokens }) };
  const said = note === undefined ? decision : { ...decision, context: kept, notes: [...notes, note] };
  return answerOf(said, state, costs, [...items.values()]);
}

const UNREAD =
  'What was served before in this session or task cannot be read now: everything is served anew. Replace it in the prompt.';

/** Routing goes on without its store. */
function unread(error: unknown): 'unread' {
  if (error instanceof StoreUnavailableError || error instanceof LostNamesError) return 'unread';
  throw error;
}

/** Returns the decision of the first request with this key, through this process or another one. @throws Problem decision-expired */
async function firstOf(id: string, log: DecisionLog): Promise<Decision> {
  const first = await log.get(id);
  if (first !== null) return first;
  throw new Problem(
    'decision-expired',
    'The decision that was made for this Idempotency-Key expired while the request was answered.',
    'Send the request again: it gets a new decision.',
  );
}

/** Retrieval scores that stand for how hard a query is: the mean of so many of the best. */
const BEST = 5;

/** Counts a slate that was shown in the experiment that it belongs to. */
export function expose(
  decision: Decision,
  catalog: Catalog,
  { exposures, costs }: Pick<RoutingParts, 'exposures' | 'costs'>,
): void {
  const { assignments = [], id: decisionId } = decision;
  for (const assignment of assignments) {
    const tokens = slateTokens(decision, catalog, costs);
    exposures.expose(catalog, { ...assignment, decisionId, covariate: covariateOf(decision), tokens });
  }
}

/** Returns how many tokens the definitions in the slate take as they are sent; of a tool without one, its name. */
function slateTokens(
  { slate, candidates, format, detail }: Decision,
  { state }: Catalog,
  costs: TokenCosts,
): number {
  return slate.reduce((sum, index) => {
    const record = state.tools.findServed(candidates[index]);
    return sum + (record === undefined ? 0 : costs.tool(record.tool, format, detail));
  }, 0);
}

/** Returns how easy the query is. It does not depend on the variant, because retrieval is the same for all of them. */
function covariateOf({ columns }: Decision): number {
  const best = columns.retrieval.slice().sort().subarray(-BEST);
  return best.length === 0 ? 0 : best.reduce((sum, score) => sum + score, 0) / best.length;
}
