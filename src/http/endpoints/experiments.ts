import { z } from '@hono/zod-openapi';
import { Problem } from '../../errors/problem.ts';
import type { Evaluations } from '../../evaluation/evaluations.ts';
import type { Experiments } from '../../experiments/experiments.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import {
  changeBody,
  experimentDraftSchema,
  experimentParams,
  experimentSchema,
  killBody,
  movedExperimentSchema,
  promoteBody,
  sharesBody,
} from '../wire/experiment.ts';
import { experimentReportSchema } from '../wire/experiment-report.ts';

function otherCatalog(named: string, addressed: string): Problem {
  const message = `is "${named}", but the path says "${addressed}"`;
  return new Problem('validation-failed', `catalog: ${message}.`, 'Leave it out, or use the same name.', {
    violations: [{ path: 'catalog', message }],
  });
}

export const experimentEndpoints = (experiments: Experiments, evaluations: Evaluations): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments',
    name: 'listExperiments',
    tag: 'Experiments',
    summary: 'All experiments of a catalog.',
    request: { params: catalogParams },
    answers: {
      200: { description: 'Oldest first.', schema: z.object({ experiments: z.array(experimentSchema) }) },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: { experiments: experiments.list(params.catalog) },
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments',
    name: 'createExperiment',
    tag: 'Experiments',
    summary: 'Create an experiment. Nothing happens until it is started.',
    request: { params: catalogParams, body: experimentDraftSchema },
    example: {
      name: 'try-cosine',
      unit: 'sessionId',
      variants: [
        { name: 'now', share: 90 },
        { name: 'cosine', share: 10, policy: 'cosine' },
      ],
    },
    answers: { 201: { description: 'The draft, with every default filled in.', schema: experimentSchema } },
    problems: ['catalog-not-found', 'experiment-exists', 'unknown-policy', 'evaluation-not-found'],
    handle: async ({ params, body }) => {
      const { catalog = params.catalog, actor, applyFromEvaluation: id, ...draft } = body;
      if (catalog !== params.catalog) throw otherCatalog(catalog, params.catalog);
      const complete = id === undefined ? draft : await evaluations.apply(catalog, id, draft);
      return { status: 201, body: await experiments.create(catalog, complete, actor) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments/{name}',
    name: 'getExperiment',
    tag: 'Experiments',
    summary: 'One experiment with its history.',
    request: { params: experimentParams },
    answers: { 200: { description: 'As it is now.', schema: experimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found'],
    handle: async ({ params }) => ({ status: 200, body: experiments.get(params.catalog, params.name) }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments/{name}/report',
    name: 'experimentReport',
    tag: 'Experiments',
    summary: 'Is a variant better?',
    description: 'The intervals are valid at every moment, so this may be asked as often as you like.',
    request: { params: experimentParams },
    answers: { 200: { description: 'Everything that can be said now.', schema: experimentReportSchema } },
    problems: ['catalog-not-found', 'experiment-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: await experiments.report(params.catalog, params.name),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/start',
    name: 'startExperiment',
    tag: 'Experiments',
    summary: 'Let units in.',
    description: 'Every variant gets its learner now.',
    request: { params: experimentParams, body: changeBody },
    example: { actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict', 'experiment-overlap'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(params.catalog, params.name, { action: 'start' }, body.actor),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/stop',
    name: 'stopExperiment',
    tag: 'Experiments',
    summary: 'End it: all units get the active policy again.',
    description: 'What was counted stays and can still be promoted.',
    request: { params: experimentParams, body: changeBody },
    example: { actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(params.catalog, params.name, { action: 'stop' }, body.actor),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/promote',
    name: 'promoteExperiment',
    tag: 'Experiments',
    summary: 'Make a variant the active policy.',
    description:
      'Without `variant` the winner; refused while there is none, and always under a sample-ratio mismatch.',
    request: { params: experimentParams, body: promoteBody },
    example: { variant: 'cosine', actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: [
      'catalog-not-found',
      'experiment-not-found',
      'experiment-conflict',
      'sample-ratio-mismatch',
      'no-winner',
    ],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(
        params.catalog,
        params.name,
        { action: 'promote', variant: body.variant ?? null },
        body.actor,
      ),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/kill',
    name: 'killExperiment',
    tag: 'Experiments',
    summary: 'Serve retrieval order at once, for one variant or all.',
    description: 'The experiment goes on counting; stop it to end it.',
    request: { params: experimentParams, body: killBody },
    example: { variant: 'cosine', actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(
        params.catalog,
        params.name,
        { action: 'kill', variant: body.variant ?? null },
        body.actor,
      ),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/shares',
    name: 'changeShares',
    tag: 'Experiments',
    summary: 'Change the shares of the variants.',
    description: 'Moves as few units as possible, and says how many; comparisons start a new period.',
    request: { params: experimentParams, body: sharesBody },
    example: { shares: { now: 50, cosine: 50 } },

    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.changeShares(params.catalog, params.name, body.shares, body.actor),
    }),
  }),
];
