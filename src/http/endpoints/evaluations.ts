import { z } from '@hono/zod-openapi';
import type { Evaluations } from '../../evaluation/evaluations.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import { evaluationDraftSchema, evaluationParams, evaluationSchema } from '../wire/evaluation.ts';

export const evaluationEndpoints = (evaluations: Evaluations): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/evaluations',
    name: 'createEvaluation',
    tag: 'Evaluations',
    summary: 'What would these policies have earned on the decisions that were logged?',
    description: 'A job in the background; ask for it until it has ended.',
    request: { params: catalogParams, body: evaluationDraftSchema },
    example: { candidates: [{ policy: 'cosine' }, { policy: 'sc-linucb' }] },
    answers: { 202: { description: 'Queued.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'unknown-policy'],
    handle: async ({ params, body }) => ({
      status: 202,
      body: await evaluations.create(params.catalog, body),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/evaluations',
    name: 'listEvaluations',
    tag: 'Evaluations',
    summary: 'The newest hundred evaluations of a catalog.',
    request: { params: catalogParams },
    answers: {
      200: { description: 'Newest first.', schema: z.object({ evaluations: z.array(evaluationSchema) }) },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: { evaluations: await evaluations.list(params.catalog) },
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/evaluations/{id}',
    name: 'getEvaluation',
    tag: 'Evaluations',
    summary: 'One evaluation: how far it is, and what it found.',
    request: { params: evaluationParams },
    answers: { 200: { description: 'As it is now.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'evaluation-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await evaluations.get(params.catalog, params.id) }),
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/evaluations/{id}',
    name: 'cancelEvaluation',
    tag: 'Evaluations',
    summary: 'Stop an evaluation that is queued or running.',
    request: { params: evaluationParams },
    answers: { 200: { description: 'As it is now.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'evaluation-not-found', 'evaluation-conflict'],
    handle: async ({ params }) => ({
      status: 200,
      body: await evaluations.cancel(params.catalog, params.id),
    }),
  }),
];
