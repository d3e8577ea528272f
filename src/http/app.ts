import { Hono } from 'hono';
import type { Admission } from './admission.ts';
import { BodyIntake } from './body-intake.ts';
import { mountDocumentation } from './documentation-pages.ts';
import type { Endpoint } from './endpoint-definition.ts';
import { catalogEndpoints } from './endpoints/catalogs.ts';
import { evaluationEndpoints } from './endpoints/evaluations.ts';
import { experimentEndpoints } from './endpoints/experiments.ts';
import { healthEndpoints } from './endpoints/health.ts';
import { policyEndpoints } from './endpoints/policies.ts';
import { rewardEndpoints } from './endpoints/rewards.ts';
import { routingEndpoints } from './endpoints/routing.ts';
import { toolEndpoints } from './endpoints/tools.ts';
import { answerFailures, type FailureLog, refuseOtherMethods } from './failures.ts';
import { openApiDocument } from './openapi-document.ts';
import { keepPositions } from './positions.ts';
import { markAnswers } from './request-id.ts';
import type { Services } from './services.ts';

/** The table of contents of the API. */
export function apiEndpoints(services: Services): Endpoint[] {
  const { routing, rewards, catalogs, tools, experiments, versions, evaluations } = services;
  return [
    ...routingEndpoints(routing),
    ...rewardEndpoints(rewards),
    ...catalogEndpoints(catalogs),
    ...toolEndpoints(tools),
    ...experimentEndpoints(experiments),
    ...policyEndpoints(versions),
    ...evaluationEndpoints(evaluations),
    ...healthEndpoints(services),
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
