import { z } from '@hono/zod-openapi';
import type { ContextTrainings } from '../../context/training/context-trainings.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import { catalogName } from '../wire/parameters.ts';

const ndcg = z.number().meta({ description: 'NDCG@5, 0 to 1.' });

const trainingSchema = z
  .object({
    id: z.string(),
    catalog: catalogName,
    status: z.enum(['queued', 'running', 'done', 'refused', 'cancelled', 'failed']),
    createdAt: z.string(),
    endedAt: z.string().nullable(),
    progress: z.number().meta({ description: '0 to 1.' }),
    examples: z.int().meta({ description: 'Examples that were read.' }),
    telling: z.int().meta({ description: 'Those that say which items were used.' }),
    users: z.int().meta({ description: 'Users with any of these.' }),
    result: z
      .object({
        judgedExamples: z.int(),
        judgedUsers: z.int().meta({ description: 'Users from whom nothing was learned.' }),
        before: ndcg,
        after: ndcg,
        lower: z.number().meta({ description: '95 % interval of the difference.' }),
        upper: z.number(),
        trees: z.int().meta({ description: 'Trees beyond those of the model in the package.' }),
      })
      .nullable()
      .meta({ description: 'Null until both models were judged.' }),
    replaced: z.boolean().meta({ description: 'Whether its model is in use since.' }),
    reason: z.string().nullable(),
  })
  .openapi('ContextTraining');

const answerSchema = z.object({ training: trainingSchema }).openapi('ContextTrainingAnswer');

const stateSchema = z
  .object({
    training: trainingSchema.nullable().meta({ description: 'The newest one; null: there was none.' }),
    model: z.object({
      trained: z.boolean().meta({ description: 'False: the one in the package is in use.' }),
      trees: z.int(),
      embedder: z.string().meta({ description: 'The embedder that it was trained with.' }),
    }),
  })
  .openapi('ContextTrainingState');

const CONTEXT = '/v1/catalogs/{catalog}/context' as const;

export const contextTrainingEndpoints = (trainings: ContextTrainings): Endpoint[] => [
  endpoint({
    method: 'post',
    path: `${CONTEXT}/training`,
    name: 'trainContext',
    tag: 'Context',
    summary: 'Train the model that ranks what users have, from what was reported.',
    description:
      'A job in the background. There is one at a time in a catalog: asking while it runs answers that one. The new model is used if it is surely better for users from whom nothing was learned.',
    request: { params: catalogParams },
    answers: { 202: { description: 'The training, which is under way.', schema: answerSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog } }) => ({
      status: 202,
      body: { training: await trainings.start(catalog) },
    }),
  }),
  endpoint({
    method: 'get',
    path: `${CONTEXT}/training`,
    name: 'getContextTraining',
    tag: 'Context',
    summary: 'The newest training, what it found, and which model is in use.',
    request: { params: catalogParams },
    answers: { 200: { description: 'As it is now.', schema: stateSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog } }) => ({
      status: 200,
      body: { training: await trainings.newest(catalog), model: await trainings.model(catalog) },
    }),
  }),
  endpoint({
    method: 'delete',
    path: `${CONTEXT}/training`,
    name: 'cancelContextTraining',
    tag: 'Context',
    summary: 'Stop the training that is under way.',
    description: 'The model that is in use stays.',
    request: { params: catalogParams },
    answers: { 200: { description: 'The training, which has ended.', schema: answerSchema } },
    problems: ['catalog-not-found', 'training-conflict', 'unavailable'],
    handle: async ({ params: { catalog } }) => ({
      status: 200,
      body: { training: await trainings.cancel(catalog) },
    }),
  }),
  endpoint({
    method: 'delete',
    path: `${CONTEXT}/model`,
    name: 'removeContextModel',
    tag: 'Context',
    summary: 'Go back to the model in the package.',
    request: { params: catalogParams },
    answers: {
      200: {
        description: '`removed` is false if the catalog had no model of its own.',
        schema: z.object({ removed: z.boolean() }).openapi('RemovedContextModel'),
      },
    },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog } }) => ({
      status: 200,
      body: { removed: await trainings.removeModel(catalog) },
    }),
  }),
];
