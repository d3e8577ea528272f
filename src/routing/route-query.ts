import type { Catalog } from '../catalog/catalog.ts';
import { type Decision, withoutDiscoveries } from '../decisions/decision.ts';
import { decisionIdFor } from '../decisions/decision-id.ts';
import type { DecisionLog, DecisionLogs } from '../decisions/decision-log.ts';
import { LostNamesError } from '../decisions/decision-names.ts';
import { Problem } from '../errors/problem.ts';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { assign } from '../experiments/assign.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import { readCarried, threadOf } from './carried.ts';
import { decide } from './decide.ts';
import { ofSameRequest, requestDigest } from './repeated-request.ts';
import { answerOf, type RouteAnswer } from './route-answer.ts';
import { countsTokens, maxInstructions, type RouteRequest } from './route-request.ts';
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
  const routed = (decision: Decision): Routed => {
    // A request that is repeated gets the same answer, whatever was discovered since.
    return { decision, answer: answerOf(withoutDiscoveries(decision), catalog.state, parts.costs) };
  };
  const earlier = digest === undefined ? null : await log.get(id);
  if (earlier !== null) return routed(ofSameRequest(earlier, digest));

  const asked = readQuery(request);
  const signal = waitsForModels(catalog) ? options.signal : undefined;
  const understood = await parts.queries.understand(asked, catalog, {
    slate: slateMethodFor(request, catalog.state.settings),
    instructions: maxInstructions(request) > 0,
    signal,
  });

  const thread = threadOf(request);
  const carried = thread === undefined ? undefined : await readCarried(thread, log).catch(unread);
  if (countsTokens(request)) await parts.costs.countAll(catalog.state, request.format);

  // From here to the log in one turn of the event loop, on one state.
  const query = comparable(understood, catalog.state);
  const exclude = [
    ...(request.exclude ?? []),
    ...catalog.state.merges.unservable(parts.unavailable(catalog.name)),
  ];
  const question = {
    ...{ id, at: parts.now(), request: { ...request, exclude }, text: asked.text, query },
    ...(countsTokens(request) && { costs: parts.costs }),
    ...(carried === 'unread' ? { notes: [UNREAD] } : carried !== undefined && { carried }),
  };
  const { assigned, ...leftOut } = assign(request, id, catalog.state);
  const decided = decide(question, catalog, assigned);
  const decision = digest === undefined ? decided : { ...decided, request: digest };
  if (!(await log.append(decision))) return routed(ofSameRequest(await firstOf(id, log), digest));

  parts.exposures.leaveOut(catalog, leftOut);
  if (assigned !== null) parts.exposures.decide(catalog, assigned.assignment);
  if (decision.activation === 'now') expose(decision, catalog, parts);
  parts.shadows.rank(question, decision, catalog);
  return routed(decision);
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
