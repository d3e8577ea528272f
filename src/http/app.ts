import { Hono } from 'hono';
import type { Admission } from './admission.ts';
import { BodyIntake } from './body-intake.ts';
import { mountDocumentation } from './documentation-pages.ts';
import type { Endpoint } from './endpoint-definition.ts';
import { activateDecision } from './endpoints/activate-decision.ts';
import { activatePolicy } from './endpoints/activate-policy.ts';
import { cancelEvaluation } from './endpoints/cancel-evaluation.ts';
import { catalogDigest } from './endpoints/catalog-digest.ts';
import { changeShares } from './endpoints/change-shares.ts';
import { comparePolicies } from './endpoints/compare-policies.ts';
import { configureCatalog } from './endpoints/configure-catalog.ts';
import { createEvaluation } from './endpoints/create-evaluation.ts';
import { createExperiment } from './endpoints/create-experiment.ts';
import { experimentReport } from './endpoints/experiment-report.ts';
import { explainDecision } from './endpoints/explain-decision.ts';
import { forgetTool } from './endpoints/forget-tool.ts';
import { forgetUnit } from './endpoints/forget-unit.ts';
import { getCatalog } from './endpoints/get-catalog.ts';
import { getEvaluation } from './endpoints/get-evaluation.ts';
import { getExperiment } from './endpoints/get-experiment.ts';
import { getPolicy } from './endpoints/get-policy.ts';
import { getTool } from './endpoints/get-tool.ts';
import { killExperiment } from './endpoints/kill-experiment.ts';
import { listCatalogs } from './endpoints/list-catalogs.ts';
import { listDeadRewards } from './endpoints/list-dead-rewards.ts';
import { listEvaluations } from './endpoints/list-evaluations.ts';
import { listExperiments } from './endpoints/list-experiments.ts';
import { listPins } from './endpoints/list-pins.ts';
import { listPolicies } from './endpoints/list-policies.ts';
import { listSnapshots } from './endpoints/list-snapshots.ts';
import { listTools } from './endpoints/list-tools.ts';
import { livez } from './endpoints/livez.ts';
import { patchTools } from './endpoints/patch-tools.ts';
import { promoteExperiment } from './endpoints/promote-experiment.ts';
import { readyz } from './endpoints/readyz.ts';
import { redriveRewards } from './endpoints/redrive-rewards.ts';
import { removeCatalog } from './endpoints/remove-catalog.ts';
import { removeTool } from './endpoints/remove-tool.ts';
import { reportOutcome } from './endpoints/report-outcome.ts';
import { reportRewards } from './endpoints/report-rewards.ts';
import { restoreSnapshot } from './endpoints/restore-snapshot.ts';
import { rewardHealth } from './endpoints/reward-health.ts';
import { rewardStatus } from './endpoints/reward-status.ts';
import { route } from './endpoints/route.ts';
import { setPins } from './endpoints/set-pins.ts';
import { startExperiment } from './endpoints/start-experiment.ts';
import { stopExperiment } from './endpoints/stop-experiment.ts';
import { syncTools } from './endpoints/sync-tools.ts';
import { toolStats } from './endpoints/tool-stats.ts';
import { answerFailures, type FailureLog, refuseOtherMethods } from './failures.ts';
import { openApiDocument } from './openapi-document.ts';
import { keepPositions } from './positions.ts';
import { markAnswers } from './request-id.ts';
import type { Services } from './services.ts';

/** The table of contents of the API. */
export function apiEndpoints(services: Services): Endpoint[] {
  const { routing, rewards, catalogs, tools, experiments, versions, evaluations } = services;
  return [
    route(routing),
    explainDecision(routing),
    activateDecision(routing),

    reportOutcome(rewards),
    reportRewards(rewards),
    rewardHealth(rewards),
    listDeadRewards(rewards),
    redriveRewards(rewards),
    rewardStatus(rewards),

    listCatalogs(catalogs),
    getCatalog(catalogs),
    configureCatalog(catalogs),
    listPins(catalogs),
    setPins(catalogs),
    removeCatalog(catalogs),
    forgetUnit(catalogs),
    catalogDigest(catalogs),

    syncTools(tools),
    patchTools(tools),
    listTools(tools),
    getTool(tools),
    removeTool(tools),
    toolStats(tools),
    forgetTool(tools),

    listExperiments(experiments),
    createExperiment(experiments),
    getExperiment(experiments),
    experimentReport(experiments),
    startExperiment(experiments),
    stopExperiment(experiments),
    promoteExperiment(experiments),
    killExperiment(experiments),
    changeShares(experiments),

    listPolicies(versions),
    comparePolicies(versions),
    getPolicy(versions),
    activatePolicy(versions),
    listSnapshots(versions),
    restoreSnapshot(versions),

    createEvaluation(evaluations),
    listEvaluations(evaluations),
    getEvaluation(evaluations),
    cancelEvaluation(evaluations),

    livez(),
    readyz(services),
  ];
}

/** The whole HTTP surface; `app.request()` answers without a server. */
export function createApp(services: Services, admission: Admission, log: FailureLog): Hono {
  const app = new Hono();
  answerFailures(app, log);
  markAnswers(app, admission);
  keepPositions(app, services.positions);

  const endpoints = apiEndpoints(services);
  const bodies = new BodyIntake();
  for (const { method, path, respond } of endpoints) {
    app.on(method, path, (context) => respond(context, bodies));
  }
  mountMetrics(app, services);
  mountDocumentation(app, () => openApiDocument(endpoints));

  refuseOtherMethods(app);
  return app;
}

function mountMetrics(app: Hono, services: Pick<Services, 'metrics'>): void {
  const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };
  app.get('/metrics', async (context) => context.body(await services.metrics(), 200, headers));
}
