import { sufficiencyFeatures } from '../../bandit/calibration/sufficiency-features.ts';
import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import { selectionMethod } from '../../bandit/policies/itr.ts';
import { randomFor } from '../../bandit/random.ts';
import { selectUnderBudget } from '../../bandit/selection/select-under-budget.ts';
import { withToolGains } from '../../bandit/selection/tool-gains.ts';
import type { Catalog } from '../catalog/catalog.ts';
import {
  type Decision,
  type Discovery,
  rewardDeadline,
  withDiscoveries,
  withoutDiscoveries,
} from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import { observedDecision } from '../decisions/observed-decision.ts';
import { Problem } from '../errors/problem.ts';
import type { DiscoveryEntry } from '../ledger/entry.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { answeredBudget } from './budgeted-answer.ts';
import { type CatalogSummary, summariseCatalog } from './catalog-summary.ts';
import { ofSameRequest, requestDigest } from './repeated-request.ts';
import { answerOf, type RoutedTool, sufficiencyAnswer } from './route-answer.ts';
import type { RoutingParts } from './route-query.ts';
import type { TokenCosts } from './token-costs.ts';

/** What an agent asks whose tools do not suffice. */
export interface DiscoverRequest {
  /** How many tools more, 1…50; absent: as many as the decision wanted. */
  readonly k?: number;
  /** Most tokens that their definitions, or the summary, may take; absent: what the decision's own budget has left, where it has one. */
  readonly tokenBudget?: number;
  /** True: no tools, but what the catalog has, by server and domain. */
  readonly summary?: boolean;
  /** How far the model says that what it has suffices, 0…1. */
  readonly rating?: number;
}

export interface DiscoverAnswer {
  readonly decisionId: string;
  /** Those that come to the slate of the decision, best first; their propensity is that of being among them. */
  readonly tools: readonly RoutedTool[];
  readonly definitions?: unknown;
  /** Tokens of their definitions. */
  readonly tokens: number;
  readonly summary?: CatalogSummary;
  /** How often more was asked for so far. */
  readonly discoveries: number;
  /** Probability that all that was served by now is enough, 0…1, and whether the catalog takes that for enough. */
  readonly sufficiency: number;
  readonly sufficient: boolean;
  /** What was asked for and could not be had, in words; absent: nothing. */
  readonly notes?: readonly string[];
  readonly rewardDeadline: string;
}

export interface DiscoverOptions {
  readonly idempotencyKey?: string | undefined;
}

type DiscoverParts = Pick<RoutingParts, 'now' | 'unavailable' | 'costs'> & {
  /** Throws where too much is asked for; a summary is always answered. */
  admit(decision: Decision): void;
};

/** A decision that is asked for more tools so often is asked in a loop; so many summaries are recorded beside that. */
const MOST_DISCOVERIES = 20;

/**
 * Serves more tools for a decision whose slate did not suffice, from its candidates that were not shown yet, by the scores that they had
 * then; or sums the catalog up. They become part of the decision, so that they can be reported as all others. Of several requests at
 * once each gets other tools.
 *
 * @throws Problem decision-not-activated, decision-expired, idempotency-conflict, too-many-discoveries, too-many-requests; StoreUnavailableError
 */
export async function discover(
  id: string,
  request: DiscoverRequest,
  catalog: Catalog,
  log: DecisionLog,
  parts: DiscoverParts,
  { idempotencyKey }: DiscoverOptions = {},
): Promise<DiscoverAnswer | null> {
  const keyed =
    idempotencyKey === undefined
      ? {}
      : { key: requestDigest(id, idempotencyKey), request: requestDigest(idempotencyKey, request) };
  let isAdmitted = request.summary === true;
  for (;;) {
    const decision = await log.get(id);
    if (decision === null) return null;
    const { discoveries = [] } = decision;
    const at = earlier(discoveries, keyed);
    if (at >= 0) {
      // Of the first time perhaps nothing but the record was written.
      await note(decision, at, catalog);
      return answer(decision, at, request, catalog, parts);
    }
    refuseUnfit(decision, request, parts.now());
    if (!isAdmitted) parts.admit(decision);
    isAdmitted = true;
    const discovery = { ...choose(decision, request, catalog, parts), ...keyed };
    const count = discoveries.filter(({ asked }) => asked === discovery.asked).length;
    const grown = withDiscoveries(withoutDiscoveries(decision), [...discoveries, discovery]);
    // Summaries are answered all the same.
    if (count >= MOST_DISCOVERIES) return answer(grown, discoveries.length, request, catalog, parts);
    if ((await log.discover(id, discovery, discoveries.length)) !== 'added') continue;
    await note(grown, discoveries.length, catalog);
    return answer(grown, discoveries.length, request, catalog, parts);
  }
}

/** Returns which discovery was made for this key; −1: none was. @throws Problem idempotency-conflict */
function earlier(
  discoveries: readonly Discovery[],
  { key, request }: Pick<Discovery, 'key' | 'request'>,
): number {
  const at = key === undefined ? -1 : discoveries.findIndex((discovery) => discovery.key === key);
  if (at >= 0) ofSameRequest(discoveries[at], request);
  return at;
}

/** @throws Problem decision-not-activated, decision-expired, too-many-discoveries */
function refuseUnfit(decision: Decision, { summary }: DiscoverRequest, now: number): void {
  if (decision.activatedAt === null) {
    throw new Problem(
      'decision-not-activated',
      `Decision "${decision.id}" was made with \`activate: "later"\`, and its slate was not shown yet.`,
      'Call POST /v1/decisions/{decisionId}/activate when the slate reaches its agent, and ask for more after that.',
    );
  }
  if (now > rewardDeadline(decision)) {
    throw new Problem(
      'decision-expired',
      `The window of decision "${decision.id}" is over: outcomes of what it serves now would not be learned.`,
      'Ask POST /v1/route again: it makes a new decision.',
    );
  }
  const forTools = (decision.discoveries ?? []).filter(({ asked }) => asked === undefined);
  if (!summary && forTools.length >= MOST_DISCOVERIES) {
    throw new Problem(
      'too-many-discoveries',
      `Decision "${decision.id}" was asked for more tools ${MOST_DISCOVERIES} times already.`,
      'Ask POST /v1/route with a query that says what is missing, or ask for `summary: true`, which is always answered.',
    );
  }
}

type Chosen = Pick<Discovery, 'tools' | 'propensity'>;

/** Chooses what is served next. All draws are keyed by the decision and by how often it was asked before. */
function choose(
  decision: Decision,
  request: DiscoverRequest,
  catalog: Catalog,
  parts: Pick<RoutingParts, 'now' | 'unavailable' | 'costs'>,
): Discovery {
  const { state } = catalog;
  const free = request.summary ? [] : freeCandidates(decision, catalog, parts);
  const { tools, propensity } = free.length === 0 ? NOTHING : draw(decision, free, request, catalog, parts);
  const served = [...decision.slate, ...tools.map((tool) => decision.candidates.indexOf(tool))];
  const features = sufficiencyFeatures(decision.columns, served, decision.split?.parts ?? 0);
  return {
    at: parts.now(),
    tools,
    propensity,
    hashes: tools.map((tool) => state.tools.findServed(tool)!.hash),
    sufficiency: state.sufficiency.probability({ features }),
    ...(request.rating !== undefined && { rating: request.rating }),
    ...(tools.length === 0 && { summary: true }),
    ...(request.summary && { asked: 'summary' }),
  };
}

const NOTHING: Chosen = { tools: [], propensity: [] };

/** Indices of the candidates that were not shown, and can be called. */
function freeCandidates(
  { candidates, slate }: Decision,
  { name, state }: Catalog,
  { unavailable }: Pick<RoutingParts, 'unavailable'>,
): number[] {
  const [shown, away] = [new Set(slate), new Set(state.merges.unservable(unavailable(name)))];
  return [...candidates.keys()].filter(
    (index) => !shown.has(index) && !away.has(candidates[index]) && isServed(candidates[index], state),
  );
}

function isServed(name: string, { tools }: CatalogState): boolean {
  const record = tools.get(name);
  return record !== undefined && tools.isServed(record);
}

/** Draws from candidates as slates are drawn; within a budget as the knapsack does. */
function draw(
  decision: Decision,
  free: readonly number[],
  { k = decision.k, tokenBudget: named }: DiscoverRequest,
  { state }: Catalog,
  { costs }: Pick<RoutingParts, 'costs'>,
): Chosen {
  const tokenBudget = named ?? roomOf(decision, state, costs);
  const { candidates, columns, exploration, temperature, format, detail } = decision;
  const random = randomFor(`${decision.id}/discover/${decision.discoveries?.length ?? 0}`);
  const byChance = exploration === 'plackett-luce';
  const score = Float64Array.from(free, (index) => columns.score[index]);
  const chosen = (at: ArrayLike<number>, propensity: ArrayLike<number> | null): Chosen => ({
    tools: Array.from(at, (one) => candidates[free[one]]),
    propensity: Array.from(at, (one) => propensity?.[one] ?? 1),
  });
  if (tokenBudget === undefined) {
    const drawn = drawSlate({ score, k, temperature, mode: exploration, random });
    return chosen(
      drawn,
      byChance ? inclusionPropensities(score, k, temperature, state.learners.kernels) : null,
    );
  }
  const tokens = Float64Array.from(free, (index) =>
    costs.tool(state.tools.findServed(candidates[index])!.tool, format, detail),
  );
  const vectors = free.map((index) => state.tools.vectors.get(state.tools.get(candidates[index])!.slot));
  const tools = withToolGains({ score, tokens, forced: [], limit: k }, vectors, tokenBudget, false);
  const none = { gain: EMPTY, score: EMPTY, tokens: EMPTY, forced: [], limit: 0 };
  const selected = selectUnderBudget({
    // The agent has said that more is needed, so that none of them is worth nothing.
    tools: { ...tools, gain: tools.gain.map((gain) => Math.max(LEAST_GAIN, gain)) },
    instructions: none,
    budget: tokenBudget,
    method: selectionMethod((state.learners.get(decision.policy.version) ?? state.learners.active).settings),
    explore: byChance,
    temperature: byChance ? temperature : 1,
    random,
  });
  return 'needed' in selected ? NOTHING : chosen(selected.tools.chosen, selected.tools.propensity);
}

/** Returns what the decision's budget has left beside all that was served and discovered; undefined: it has none. */
function roomOf(decision: Decision, state: CatalogState, costs: TokenCosts): number | undefined {
  const tokenBudget = decision.budget?.tokenBudget ?? null;
  if (tokenBudget === null) return undefined;
  const { tokens, discovered } = answeredBudget(decision, state, costs)!;
  return Math.max(0, tokenBudget - tokens.total - discovered);
}

const LEAST_GAIN = 1e-6;
const EMPTY = new Float64Array(0);

/** Tells all processes that a slate did not suffice; again, it changes nothing. */
async function note(decision: Decision, at: number, { ledger }: Catalog): Promise<void> {
  const discovery = decision.discoveries![at];
  const entry: DiscoveryEntry = {
    kind: 'discovery',
    key: `discovery/${decision.id}/${at}/${discovery.at}`,
    at: discovery.at,
    decision: observedDecision(decision, []),
    added: discovery.tools.length,
    ...(discovery.rating !== undefined && { rating: discovery.rating }),
  };
  await ledger.append([entry]);
}

function answer(
  decision: Decision,
  at: number,
  request: DiscoverRequest,
  { state }: Catalog,
  { costs }: Pick<RoutingParts, 'costs'>,
): DiscoverAnswer {
  const discovery = decision.discoveries![at];
  const { hashes, propensity } = discovery;
  const slate = discovery.tools.map((tool) => decision.candidates.indexOf(tool));
  const reasons = slate.map(() => 'discovered' as const);
  // It took nothing over, and its tokens are counted here; but where it comes after what was served, it has the shape of that.
  const { carried: _, budget, ...plain } = decision;
  const appended = budget?.assembly === 'append' ? { budget } : {};
  const added = answerOf({ ...plain, ...appended, slate, reasons, hashes }, state, costs);
  const { tools, definitions, rewardDeadline } = added;
  const live = discovery.tools
    .filter((tool) => state.tools.get(tool) !== undefined)
    .map((tool) => state.tools.findServed(tool)!);
  const tokens = live.reduce((sum, { tool }) => sum + costs.tool(tool, decision.format, decision.detail), 0);
  const notes =
    slate.length > 0 || request.summary ? [] : [nothingLeft(request, roomOf(decision, state, costs))];
  return {
    decisionId: decision.id,
    tools: tools.map((tool, i) => ({ ...tool, propensity: propensity[i] })),
    ...(definitions !== undefined && { definitions }),
    tokens,
    ...(discovery.summary && {
      summary: summariseCatalog(state, costs.counter, request.tokenBudget),
    }),
    discoveries: at + 1,
    ...sufficiencyAnswer(discovery.sufficiency ?? 0, state),
    ...(notes.length > 0 && { notes }),
    rewardDeadline,
  };
}

function nothingLeft({ tokenBudget }: DiscoverRequest, room: number | undefined): string {
  const more = 'ask POST /v1/route with a query that says what is missing';
  if (tokenBudget === undefined && room !== undefined) {
    return `Nothing else that is near this query fits into the ${room} tokens that the decision's budget has left: name a \`tokenBudget\` to go beyond it (the prompt of a session may start anew then at the next step), or ${more}`;
  }
  if (tokenBudget === undefined) return `Nothing else is near this query: ${more}`;
  return `Nothing else that is near this query fits into ${tokenBudget} tokens: raise \`tokenBudget\`, or ${more}`;
}
