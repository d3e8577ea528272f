import { Hono } from 'hono';
import type { Cases } from '../catalog/cases.ts';
import type { CatalogAdministration } from '../catalog/catalog-administration.ts';
import type { CatalogPositions } from '../catalog/catalog-positions.ts';
import type { Pins } from '../catalog/pins.ts';
import type { Tools } from '../catalog/tools.ts';
import type { ContextTrainings } from '../context/training/context-trainings.ts';
import type { UserContexts } from '../context/user-contexts.ts';
import type { Evaluations } from '../evaluation/evaluations.ts';
import type { Experiments } from '../experiments/experiments.ts';
import type { PolicyVersions } from '../experiments/policy-versions.ts';
import type { Instructions } from '../instructions/instructions.ts';
import type { Merges } from '../merging/merges.ts';
import type { Rewards } from '../rewards/rewards.ts';
import type { Tasks } from '../rewards/tasks.ts';
import type { Routing } from '../routing/routing.ts';
import type { Sources } from '../sources/sources.ts';
import type { Admission } from './admission.ts';
import { AnswerHeaders } from './answer-headers.ts';
import { BodyIntake } from './body-intake.ts';
import { type MountPage, mountDocumentation, openApiDocument } from './documentation.ts';
import type { Endpoint, Mount } from './endpoint-definition.ts';
import { caseEndpoints } from './endpoints/cases.ts';
import { catalogEndpoints } from './endpoints/catalogs.ts';
import { contextEndpoints } from './endpoints/context.ts';
import { contextTrainingEndpoints } from './endpoints/context-training.ts';
import { evaluationEndpoints } from './endpoints/evaluations.ts';
import { experimentEndpoints } from './endpoints/experiments.ts';
import { type Health, healthEndpoints } from './endpoints/health.ts';
import { instructionEndpoints } from './endpoints/instructions.ts';
import { mergeEndpoints } from './endpoints/merges.ts';
import { policyEndpoints } from './endpoints/policies.ts';
import { rewardEndpoints } from './endpoints/rewards.ts';
import { routingEndpoints } from './endpoints/routing.ts';
import { sourceEndpoints } from './endpoints/sources.ts';
import { taskEndpoints } from './endpoints/tasks.ts';
import { toolEndpoints } from './endpoints/tools.ts';
import { answerFailures, type FailureLog, refuseTheRest } from './failures.ts';
import { type McpFace, mountMcp } from './mcp.ts';

/** Everything that endpoints ask. */
export interface Nouns {
  readonly routing: Routing;
  readonly rewards: Rewards;
  readonly tasks: Tasks;
  readonly catalogs: CatalogAdministration;
  readonly contexts: UserContexts;
  readonly trainings: ContextTrainings;
  readonly pins: Pins;
  readonly tools: Tools;
  readonly instructions: Instructions;
  readonly cases: Cases;
  readonly sources: Sources;
  readonly merges: Merges;
  readonly experiments: Experiments;
  readonly versions: PolicyVersions;
  readonly evaluations: Evaluations;
  readonly positions: CatalogPositions;
  readonly health: Health;
  readonly mcp: McpFace;
}

/** The table of contents of the API. */
export function apiEndpoints(nouns: Nouns): Endpoint[] {
  const {
    routing,
    rewards,
    tasks,
    catalogs,
    pins,
    tools,
    cases,
    experiments,
    versions,
    evaluations,
    health,
  } = nouns;
  return [
    ...routingEndpoints(routing),
    ...rewardEndpoints(rewards),
    ...taskEndpoints(tasks),
    ...catalogEndpoints(catalogs, pins),
    ...toolEndpoints(tools),
    ...instructionEndpoints(nouns.instructions),
    ...caseEndpoints(cases),
    ...contextEndpoints(nouns.contexts),
    ...contextTrainingEndpoints(nouns.trainings),
    ...sourceEndpoints(nouns.sources),
    ...mergeEndpoints(nouns.merges),
    ...experimentEndpoints(experiments, evaluations),
    ...policyEndpoints(versions),
    ...evaluationEndpoints(evaluations),
    ...healthEndpoints(health),
  ];
}

/** The whole HTTP surface; `app.request()` answers without a server. */
export function createApp(nouns: Nouns, admission: Admission, log: FailureLog): Hono {
  const app = new Hono();
  const headers = new AnswerHeaders(nouns.positions, admission);
  const mount: Mount = (methods, path, handler) => app.on(methods, path, headers.whenKnown(handler));
  answerFailures(app, headers, log);

  const endpoints = apiEndpoints(nouns);
  const parts = { bodies: new BodyIntake(), headers, log };
  for (const { method, path, respond } of endpoints) {
    mount([method], path, (context) => respond(context, parts));
  }
  mountMcp(mount, nouns.mcp, parts);
  const page: MountPage = (path, make) =>
    mount(['GET'], path, async (context) => {
      const { body, headers: own } = await make();
      return new Response(body, { headers: { ...headers.of(context), ...own } });
    });
  page('/metrics', async () => ({ body: await nouns.health.metrics(), headers: METRICS_TYPE }));
  mountDocumentation(page, () => openApiDocument(endpoints));

  refuseTheRest(app, headers);
  return app;
}

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };
