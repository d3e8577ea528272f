import type { CatalogView } from '../catalog/catalogs.ts';
import type { ChangeOptions, ToolChanges } from '../catalog/change-tools.ts';
import type { CatalogSettingsPatch } from '../catalog/configure-catalog.ts';
import type { PinView } from '../catalog/pins.ts';
import type { ToolPage } from '../catalog/read-tools.ts';
import type { Evaluation } from '../evaluation/evaluation.ts';
import type { EvaluationDraft } from '../evaluation/evaluation-draft.ts';
import type { ExperimentDraft } from '../experiments/experiment-draft.ts';
import type { ExperimentReportView } from '../experiments/experiment-report.ts';
import type { ExperimentView } from '../experiments/experiment-view.ts';
import type { MovedExperiment } from '../experiments/experiments.ts';
import type { SnapshotView, VersionDifferences, VersionView } from '../experiments/policy-versions.ts';
import type { Pin } from '../ledger/catalog-settings.ts';
import type { ExperimentChange } from '../ledger/experiment-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { DeadRewards } from '../rewards/dead-rewards.ts';
import type { Forgotten } from '../rewards/forget.ts';
import type { RewardHealth } from '../rewards/health-report.ts';
import type { RewardReport, RewardResult } from '../rewards/reward-report.ts';
import type { RewardState } from '../rewards/reward-status.ts';
import type { DecisionExplanation } from '../routing/explanation.ts';
import type { RouteAnswer, RouteRequest } from '../routing/route-request.ts';
import type { ActivatedDecision } from '../routing/routing.ts';
import type { StateDigest } from '../state/state-digest.ts';
import type { ToolRecord, ToolStatistics } from '../state/tool-table.ts';

/**
 * Everything that the endpoints call, by noun. Each endpoint takes just the functions it uses, so a test needs
 * no more than those.
 */
export interface Services {
  readonly routing: RoutingService;
  readonly rewards: RewardsService;
  readonly catalogs: CatalogsService;
  readonly tools: ToolsService;
  readonly experiments: ExperimentsService;
  readonly versions: VersionsService;
  readonly evaluations: EvaluationsService;
  readonly positions: PositionsService;
  ready(): Promise<Readiness>;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

export interface RoutingService {
  route(request: RouteRequest, options: { readonly idempotencyKey?: string }): Promise<RouteAnswer>;
  explain(decisionId: string): Promise<DecisionExplanation>;
  activate(decisionId: string): Promise<ActivatedDecision>;
}

export interface RewardsService {
  /** One result per report, in order. */
  report(reports: readonly RewardReport[]): Promise<readonly RewardResult[]>;
  status(rewardId: string): Promise<RewardState>;
  health(catalog: string): Promise<RewardHealth>;
  /** Those that were given up, newest first. */
  dead(limit: number): Promise<readonly DeadRewards[]>;
  /** Puts them back; answers how many. */
  redrive(ids?: readonly string[]): Promise<number>;
}

export interface CatalogsService {
  list(): readonly CatalogView[] | Promise<readonly CatalogView[]>;
  get(name: string): CatalogView | Promise<CatalogView>;
  configure(name: string, patch: CatalogSettingsPatch): Promise<CatalogView>;
  pins(name: string): Promise<readonly PinView[]>;
  setPins(name: string, pins: readonly Pin[]): Promise<readonly PinView[]>;
  remove(name: string): Promise<void>;
  digest(name: string): Promise<StateDigest>;
  /** Erases what was learned from a unit, user or session. */
  forgetUnit(name: string, unit: string): Promise<Forgotten>;
}

export interface ToolsService {
  sync(catalog: string, tools: readonly ToolDefinition[], options: ChangeOptions): Promise<ToolChanges>;
  patch(
    catalog: string,
    change: { readonly put?: readonly ToolDefinition[]; readonly remove?: readonly string[] },
    options: ChangeOptions,
  ): Promise<ToolChanges>;
  list(catalog: string, page: { readonly limit: number; readonly cursor?: string }): Promise<ToolPage>;
  get(catalog: string, name: string): Promise<ToolRecord>;
  remove(catalog: string, name: string, options: ChangeOptions): Promise<ToolChanges>;
  stats(catalog: string, name: string): Promise<ToolStatistics>;
  /** Erases what was learned about a tool. */
  forget(catalog: string, name: string): Promise<Forgotten>;
}

export interface ExperimentsService {
  list(catalog: string): Promise<readonly ExperimentView[]>;
  get(catalog: string, name: string): Promise<ExperimentView>;
  create(
    catalog: string,
    draft: ExperimentDraft & { readonly applyFromEvaluation?: string | undefined },
    actor?: string,
  ): Promise<ExperimentView>;
  change(catalog: string, name: string, change: ExperimentChange, actor?: string): Promise<MovedExperiment>;
  changeShares(
    catalog: string,
    name: string,
    shares: Readonly<Record<string, number>>,
    actor?: string,
  ): Promise<MovedExperiment>;
  report(catalog: string, name: string): Promise<ExperimentReportView>;
}

export interface EvaluationsService {
  create(catalog: string, draft: EvaluationDraft): Promise<Evaluation>;
  list(catalog: string): Promise<readonly Evaluation[]>;
  get(catalog: string, id: string): Promise<Evaluation>;
  cancel(catalog: string, id: string): Promise<Evaluation>;
}

export interface VersionsService {
  list(catalog: string): Promise<readonly VersionView[]>;
  get(catalog: string, version: string): Promise<VersionView>;
  differences(catalog: string, from: string, to: string): Promise<VersionDifferences>;
  /** Rolls forward or back; nothing that was learned meanwhile is lost. */
  activate(catalog: string, version: string, actor?: string): Promise<VersionView>;
  snapshots(catalog: string): Promise<readonly SnapshotView[]>;
  /** Back to the policy of a snapshot, with everything that was observed since. */
  restore(catalog: string, position: number, actor?: string): Promise<VersionView>;
}

export interface PositionsService {
  /** How far a catalog is known here; null when it is not here. */
  of(catalog: string): number | null;
  /** Resolves when it is known up to there. */
  reached(catalog: string, position: number): Promise<void>;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>;
}
