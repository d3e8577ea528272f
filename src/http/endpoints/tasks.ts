import { z } from '@hono/zod-openapi';
import type { Tasks } from '../../rewards/tasks.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { callersId, catalogName, taskId } from '../wire/parameters.ts';

const requestSchema = z.strictObject({
  catalog: catalogName.optional().meta({ description: 'End it in this catalog alone; in all if left out.' }),
  userId: callersId.optional(),
  unitId: callersId
    .optional()
    .meta({ description: 'As in the route requests; needed if several users have a task of this id.' }),
});

const answerSchema = z
  .object({
    task: taskId,
    decisions: z.int().meta({ description: 'Decisions that were open to outcomes until now.' }),
  })
  .openapi('EndedTask');

export const taskEndpoints = (tasks: Tasks): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/tasks/{task}/end',
    name: 'endTask',
    tag: 'Rewards',
    summary: 'A task is over: shown tools that nobody called in it count as not used.',
    description:
      'Closes the decisions of the task, if anything was reported in it. Repeating it changes nothing but for what was routed since. Reports that come later are learned as calls, as long as their window is open.',
    request: { params: z.object({ task: taskId }), body: requestSchema },
    example: {},
    bodyOptional: true,
    answers: { 202: { description: 'Ended; it is learned a moment later.', schema: answerSchema } },
    problems: ['task-not-found', 'task-ambiguous', 'catalog-not-found'],
    handle: async ({ params, body }) => ({ status: 202, body: await tasks.end({ ...body, ...params }) }),
  }),
];
