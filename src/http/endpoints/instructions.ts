import type { Instructions } from '../../instructions/instructions.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams, forgottenSchema } from '../wire/catalog.ts';
import {
  approveInstructionsBody,
  changesQuery,
  INSTRUCTIONS_BODY,
  instructionChangesSchema,
  instructionLogSchema,
  instructionLogView,
  instructionPageSchema,
  instructionParams,
  instructionsQuery,
  instructionView,
  instructionViewSchema,
  patchInstructionsBody,
  removeInstructionQuery,
  splittingOf,
  syncInstructionsBody,
} from '../wire/instruction.ts';
import { changeHeaders, conditionsOf, etag } from '../wire/parameters.ts';

const INSTRUCTION = {
  id: 'refunds/limits',
  text: 'Refunds above 100 EUR need the approval of a manager.',
  kind: 'policy' as const,
  priority: 70,
};

export const instructionEndpoints = (instructions: Instructions): Endpoint[] => [
  endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/instructions',
    name: 'syncInstructions',
    tag: 'Instructions',
    summary: 'Make the catalog hold exactly these instructions.',
    description: 'Instructions that did not change cost nothing, and stay approved.',
    request: { params: catalogParams, headers: changeHeaders, body: syncInstructionsBody },
    example: { instructions: [INSTRUCTION], actor: 'anna' },
    limits: INSTRUCTIONS_BODY,
    fixFor: splittingOf,
    answers: { 200: { description: 'What changed.', schema: instructionChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict'],
    handle: async ({ params, headers, body: { instructions: all, actor } }, { signal }) => {
      const options = { ...conditionsOf(headers), ...(actor && { actor }), signal };
      return answered(await instructions.sync(params.catalog, all, options));
    },
  }),
  endpoint({
    method: 'patch',
    path: '/v1/catalogs/{catalog}/instructions',
    name: 'patchInstructions',
    tag: 'Instructions',
    summary: 'Put some instructions, remove some.',
    request: { params: catalogParams, headers: changeHeaders, body: patchInstructionsBody },
    example: { put: [INSTRUCTION], remove: ['refunds/old'], actor: 'anna' },
    limits: INSTRUCTIONS_BODY,
    fixFor: splittingOf,
    answers: { 200: { description: 'What changed.', schema: instructionChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict'],
    handle: async ({ params, headers, body: { actor, ...body } }, { signal }) => {
      const options = { ...conditionsOf(headers), ...(actor && { actor }), signal };
      return answered(await instructions.patch(params.catalog, body, options));
    },
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/instructions/approve',
    name: 'approveInstructions',
    tag: 'Instructions',
    summary: 'Serve drafts, and changes that wait.',
    description: 'With `If-Match` exactly what was read at that revision is approved.',
    request: { params: catalogParams, headers: changeHeaders, body: approveInstructionsBody },
    bodyOptional: true,
    example: { ids: ['refunds/limits'], actor: 'anna' },
    answers: { 200: { description: 'What changed.', schema: instructionChangesSchema } },
    problems: ['catalog-not-found', 'instruction-not-found', 'revision-mismatch', 'idempotency-conflict'],
    handle: async ({ params, headers, body: { ids, actor } }, { signal }) => {
      const options = { ...conditionsOf(headers), ...(actor && { actor }), signal };
      return answered(await instructions.approve(params.catalog, ids, options));
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/instructions',
    name: 'listInstructions',
    tag: 'Instructions',
    summary: 'The instructions of a catalog, by id.',
    request: { params: catalogParams, query: instructionsQuery },
    answers: { 200: { description: 'One page.', schema: instructionPageSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, query }) => {
      const { revision, instructions: page, nextCursor } = instructions.list(params.catalog, query);
      const body = { instructions: page.map(instructionView), nextCursor, revision };
      return { status: 200, body, headers: etag(revision) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/instructions/changes',
    name: 'instructionChanges',
    tag: 'Instructions',
    summary: 'Who changed which instructions, and when.',
    description: 'The latest 500 changes of a catalog are kept, newest first.',
    request: { params: catalogParams, query: changesQuery },
    answers: { 200: { description: 'The latest changes.', schema: instructionLogSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, query }) => {
      return { status: 200, body: instructionLogView(instructions.changes(params.catalog, query.limit)) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/instructions/{id}',
    name: 'getInstruction',
    tag: 'Instructions',
    summary: 'One instruction.',
    request: { params: instructionParams },
    answers: { 200: { description: 'The instruction.', schema: instructionViewSchema } },
    problems: ['catalog-not-found', 'instruction-not-found'],
    handle: async ({ params }) => {
      return { status: 200, body: instructionView(instructions.get(params.catalog, params.id)) };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/instructions/{id}',
    name: 'removeInstruction',
    tag: 'Instructions',
    summary: 'Remove an instruction.',
    description: 'What was learned about it is kept for a while and comes back with it.',
    request: { params: instructionParams, query: removeInstructionQuery, headers: changeHeaders },
    answers: { 200: { description: 'What changed.', schema: instructionChangesSchema } },
    problems: ['catalog-not-found', 'instruction-not-found', 'revision-mismatch', 'idempotency-conflict'],
    handle: async ({ params, query: { actor }, headers }) => {
      const options = { ...conditionsOf(headers), ...(actor && { actor }) };
      return answered(await instructions.remove(params.catalog, params.id, options));
    },
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/instructions/{id}/memory',
    name: 'forgetInstruction',
    tag: 'Instructions',
    summary: 'Erase what was learned of an instruction.',
    description:
      'The instruction stays. What it was learned to add by being there goes, and its retrieval score counts again until there is new evidence; how much a retrieval score is worth is learned from all instructions together and stays.',
    request: { params: instructionParams },
    answers: { 200: { description: 'How much was erased.', schema: forgottenSchema } },
    problems: ['catalog-not-found', 'instruction-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: await instructions.forget(params.catalog, params.id),
    }),
  }),
];

function answered(changes: Awaited<ReturnType<Instructions['sync']>>) {
  const duplicates = changes.duplicates.map(({ ids: [a, b], ...rest }) => ({
    ids: [a, b] as [string, string],
    ...rest,
  }));
  const body = { ...changes, duplicates };
  return { status: 200 as const, body, headers: etag(changes.revision) };
}
