import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { type Decision, type DecisionHead, rewardDeadline } from '../decisions/decision.ts';
import { catalogOf, isYoung } from '../decisions/decision-id.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import { LostNamesError } from '../decisions/decision-names.ts';
import type { Settlements } from '../decisions/settlements.ts';
import { Problem } from '../errors/problem.ts';
import { type DiscoverAnswer, type DiscoverOptions, type DiscoverRequest, discover } from './discover.ts';
import { DiscoveryBreaker } from './discovery-breaker.ts';
import { type DecisionExplanation, explainDecision } from './explain-decision.ts';
import { type DecisionFilter, type DecisionPage, listDecisions } from './list-decisions.ts';
import type { RouteAnswer } from './route-answer.ts';
import { expose, type RouteOptions, type RoutingParts, routeQuery } from './route-query.ts';
import type { RouteRequest } from './route-request.ts';
import { type SufficiencyReport, sufficiencyReport } from './sufficiency-report.ts';

export interface ActivatedDecision {
  readonly decisionId: string;
  readonly activatedAt: string;
  readonly rewardDeadline: string;
}

/** Called after every answer with how long it took. */
export type OnRoute = (answer: RouteAnswer, seconds: number) => void;

/** Decisions: made, explained, activated. */
export class Routing {
  readonly #catalogs: Catalogs;
  readonly #parts: RoutingParts;
  readonly #settlements: Settlements;
  readonly #onRoute: OnRoute;
  /** By catalog. One that is created again begins anew. */
  readonly #breakers = new WeakMap<Catalog, DiscoveryBreaker>();

  constructor(catalogs: Catalogs, parts: RoutingParts, settlements: Settlements, onRoute: OnRoute) {
    this.#catalogs = catalogs;
    this.#parts = parts;
    this.#settlements = settlements;
    this.#onRoute = onRoute;
  }

  async route(request: RouteRequest, options: RouteOptions = {}): Promise<RouteAnswer> {
    const start = performance.now();
    const answer = await this.#catalogs.holding(request.catalog, async (catalog) => {
      if (catalog.state.settings.rewards.defaultReward !== null) this.#settlements.assertRoom();
      const routed = await routeQuery(request, catalog, this.#parts, options);
      this.#breakerOf(catalog).decided(this.#parts.now(), callerOf(routed.decision));
      if (request.activate === 'now') await this.#settleIfDefault(routed.decision);
      return routed.answer;
    });
    this.#onRoute(answer, (performance.now() - start) / 1000);
    return answer;
  }

  async explain(decisionId: string): Promise<DecisionExplanation> {
    const decision = await this.find(decisionId);
    const { contexts, costs } = this.#parts;
    const again = decision.context === undefined ? undefined : await contexts.again(decision);
    return explainDecision(decision, this.#catalogs.get(decision.catalog), costs, again);
  }

  /** Newest first. @throws Problem catalog-not-found, validation-failed */
  list(
    catalog: string,
    filter: DecisionFilter,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<DecisionPage> {
    return this.#catalogs.holding(catalog, async (open) => {
      return listDecisions(open, await this.#parts.decisionLogs.find(catalog), filter, page);
    });
  }

  /** The slate was shown: its rewards count from now on. Repeating it changes nothing. */
  async activate(decisionId: string): Promise<ActivatedDecision> {
    const { catalog, defaultReward } = await this.find(decisionId);
    if (defaultReward !== undefined) this.#settlements.assertRoom();
    const activation = await this.#catalogs.holding(catalog, async () => {
      const log = await this.#parts.decisionLogs.find(catalog);
      return log?.activate(decisionId, this.#parts.now());
    });
    const decision = await this.find(decisionId);
    if (activation === 'first') expose(decision, this.#catalogs.get(catalog), this.#parts);
    await this.#settleIfDefault(decision);
    return {
      decisionId,
      activatedAt: new Date(decision.activatedAt ?? decision.at).toISOString(),
      rewardDeadline: new Date(rewardDeadline(decision)).toISOString(),
    };
  }

  /**
   * The slate did not suffice: serves more tools, which become part of the decision, or sums the catalog up.
   * @throws Problem decision-not-found, decision-not-activated, decision-expired, idempotency-conflict, too-many-discoveries, too-many-requests
   */
  async discover(
    decisionId: string,
    request: DiscoverRequest,
    options: DiscoverOptions = {},
  ): Promise<DiscoverAnswer> {
    const { catalog: name } = await this.findHead(decisionId);
    const answer = await this.#catalogs.holding(name, async (catalog) => {
      const log = await this.#parts.decisionLogs.find(name);
      if (log === null) return null;
      const admit = (decision: Decision): void => this.#refuseStorm(catalog, decision);
      return discover(decisionId, request, catalog, log, { ...this.#parts, admit }, options);
    });
    return answer ?? this.#find<DiscoverAnswer>(decisionId, async () => null);
  }

  /** How well the sufficiency of slates is predicted, and how often more is asked for. @throws Problem catalog-not-found */
  sufficiency(catalog: string): SufficiencyReport {
    const open = this.#catalogs.get(catalog);
    const now = this.#parts.now();
    return sufficiencyReport(open, this.#breakerOf(open).state(now), now);
  }

  /** @throws Problem decision-not-found */
  find(decisionId: string): Promise<Decision> {
    return this.#find(decisionId, (log) => log.get(decisionId));
  }

  /** @throws Problem decision-not-found */
  findHead(decisionId: string): Promise<DecisionHead> {
    return this.#find(decisionId, (log) => log.head(decisionId));
  }

  async #find<Found>(decisionId: string, read: (log: DecisionLog) => Promise<Found | null>): Promise<Found> {
    const name = catalogOf(decisionId);
    const { decisionLogs } = this.#parts;
    if (name !== null && this.#catalogs.getIfAny(name) !== undefined) {
      const found = await this.#catalogs
        .holding(name, async () => {
          const log = await decisionLogs.find(name);
          return log === null ? null : read(log);
        })
        .catch((error: unknown) => {
          if (!(error instanceof LostNamesError)) throw error;
          throw new Problem('decision-not-found', error.message, error.suggestedFix, { cause: error });
        });
      if (found !== null) return found;
    }
    // Another router may have made it, in a catalog that it created a moment ago.
    if (decisionLogs.isShared && isYoung(decisionId, this.#parts.now())) throw onItsWay(decisionId);
    throw new Problem(
      'decision-not-found',
      `There is no decision "${decisionId}".`,
      'Send the decisionId of the /v1/route answer unchanged. Decisions expire some time after their window.',
    );
  }

  #breakerOf(catalog: Catalog): DiscoveryBreaker {
    let breaker = this.#breakers.get(catalog);
    if (breaker === undefined) {
      breaker = new DiscoveryBreaker();
      this.#breakers.set(catalog, breaker);
    }
    return breaker;
  }

  /** @throws Problem too-many-requests */
  #refuseStorm(catalog: Catalog, decision: Decision): void {
    const { sufficiencyThreshold } = catalog.state.settings;
    const isAdvised =
      decision.discoveries === undefined && (decision.sufficiency ?? 1) < sufficiencyThreshold;
    const refusal = this.#breakerOf(catalog).ask(this.#parts.now(), callerOf(decision), isAdvised);
    if (refusal === null) return;
    const { waitMs, isCaller } = refusal;
    throw new Problem(
      'too-many-requests',
      isCaller
        ? 'This user, unit, session or task asked for more tools too often in the last minute, for the number of its decisions.'
        : `Too many slates of catalog "${catalog.name}" were asked for more in the last minute, for the number of its decisions.`,
      'Go on with what was served, or wait as long as `Retry-After` says. GET /v1/catalogs/{catalog}/sufficiency shows what is wrong: an agent that asks in a loop, or a catalog in which nothing fits.',
      { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
    );
  }

  /** With a default reward in the contract under which it was made, silence teaches too: at the deadline. */
  async #settleIfDefault(decision: Decision): Promise<void> {
    if (decision.defaultReward !== undefined) await this.#settlements.settle(decision);
  }
}

/** By whom storms are told apart, as far as the request said it. */
function callerOf({ unit, task }: Decision): string | undefined {
  return unit ?? task;
}

/**
 * Made by another router: while Redis was away, so that this router keeps it until it can write, or in a catalog that is not
 * known here yet.
 */
function onItsWay(decisionId: string): Problem {
  return new Problem(
    'unavailable',
    `Decision "${decisionId}" is not in Redis yet, or its catalog not open here: the router that made it writes it as soon as it can.`,
    'Send this again after a second. If it is still missing after ten minutes, that router has died before it could, or its catalog was deleted.',
    { retryAfterSeconds: 1 },
  );
}
