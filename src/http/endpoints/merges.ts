import type { ChangeOptions } from '../../catalog/conditional-change.ts';
import type { Merges } from '../../merging/merges.ts';
import type { MergeRecord } from '../../state/merge-table.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import {
  approveMergeBody,
  cancelMergeRunQuery,
  decideMergeBody,
  mergePageSchema,
  mergePageView,
  mergeParams,
  mergeRunAnswerSchema,
  mergeRunDetailsSchema,
  mergeRunDetailsView,
  mergeRunView,
  mergesQuery,
  mergeView,
  mergeViewSchema,
  proposeMergesBody,
  proposeOwnBody,
} from '../wire/merge.ts';
import { changeHeaders, conditionsOf } from '../wire/parameters.ts';

/** What the requests that decide about a merge have in common. */
const DECISION = {
  request: { params: mergeParams, headers: changeHeaders },
  bodyOptional: true,
  example: { actor: 'anna' },
  answers: { 200: { description: 'The merge, as it is now.', schema: mergeViewSchema } },
  problems: [
    'catalog-not-found',
    'merge-not-found',
    'merge-conflict',
    'revision-mismatch',
    'idempotency-conflict',
  ],
} as const;

/** Returns who decides, and under which conditions. */
function optionsOf({
  headers,
  body: { actor },
}: {
  readonly headers: Parameters<typeof conditionsOf>[0];
  readonly body: { readonly actor?: string | undefined };
}): ChangeOptions {
  return { ...conditionsOf(headers), ...(actor && { actor }) };
}

const decided = (record: MergeRecord) => ({ status: 200, body: mergeView(record) }) as const;

export const mergeEndpoints = (merges: Merges): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/merges/propose',
    name: 'proposeMerges',
    tag: 'Merges',
    summary: 'Look for tools that do the same.',
    description:
      'A job in the background; `GET …/merges` shows how far it is. There is one at a time in a catalog: asking for the same while it runs answers that one. What is left out comes from the settings of the catalog.',
    request: { params: catalogParams, body: proposeMergesBody },
    bodyOptional: true,
    example: { touched: 'all' },
    answers: { 202: { description: 'The run, which is under way.', schema: mergeRunAnswerSchema } },
    problems: ['catalog-not-found', 'merge-conflict'],
    handle: async ({ params, body: { actor, ...draft } }) => ({
      status: 202,
      body: { run: mergeRunView(await merges.propose(params.catalog, draft, actor)) },
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/merges',
    name: 'proposeMerge',
    tag: 'Merges',
    summary: 'Propose to serve these tools as one.',
    description:
      'A merge of one’s own choice, to be reviewed and approved as others. What the rules say against it stands in `guarded`. Asking again answers the same merge.',
    request: { params: catalogParams, body: proposeOwnBody },
    example: { tools: ['refund_payment', 'payments_refund'], actor: 'anna' },
    answers: { 201: { description: 'The merge, which waits for a decision.', schema: mergeViewSchema } },
    problems: ['catalog-not-found', 'tool-not-found', 'merge-conflict'],
    handle: async ({ params, body }) => ({
      status: 201,
      body: mergeView(await merges.proposeOwn(params.catalog, body)),
    }),
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/merges/run',
    name: 'cancelMergeRun',
    tag: 'Merges',
    summary: 'Stop looking for tools that do the same.',
    description: 'What it has proposed already stays.',
    request: { params: catalogParams, query: cancelMergeRunQuery },
    answers: { 200: { description: 'The run, which has ended.', schema: mergeRunAnswerSchema } },
    problems: ['catalog-not-found', 'merge-conflict'],
    handle: async ({ params, query }) => ({
      status: 200,
      body: { run: mergeRunView(await merges.cancel(params.catalog, query.actor)) },
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/merges/run',
    name: 'getMergeRun',
    tag: 'Merges',
    summary: 'The newest run, and tools that only look as if they did the same.',
    request: { params: catalogParams },
    answers: { 200: { description: 'As it is now.', schema: mergeRunDetailsSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: mergeRunDetailsView(merges.run(params.catalog)) }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/merges',
    name: 'listMerges',
    tag: 'Merges',
    summary: 'Tools that do the same, the surest first, and the newest run.',
    request: { params: catalogParams, query: mergesQuery },
    answers: { 200: { description: 'One page.', schema: mergePageSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, query }) => ({
      status: 200,
      body: mergePageView(merges.list(params.catalog, query)),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/merges/{id}',
    name: 'getMerge',
    tag: 'Merges',
    summary: 'One merge: its tools, why they are taken for the same, and what is served.',
    request: { params: mergeParams },
    answers: { 200: { description: 'The merge.', schema: mergeViewSchema } },
    problems: ['catalog-not-found', 'merge-not-found'],
    handle: async ({ params }) => ({ status: 200, body: mergeView(merges.get(params.catalog, params.id)) }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/merges/{id}/approve',
    name: 'approveMerge',
    tag: 'Merges',
    summary: 'Serve these tools as one.',
    description:
      'The tools stay as they were put, and can still be called by their names. With `If-Match` only at that revision of the tools, with `digest` only what was read.',
    ...DECISION,
    request: { ...DECISION.request, body: approveMergeBody },
    handle: async ({ params: { catalog, id }, ...asked }, { signal }) => {
      const { digest } = asked.body;
      return decided(await merges.approve(catalog, id, { ...optionsOf(asked), digest, signal }));
    },
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/merges/{id}/reject',
    name: 'rejectMerge',
    tag: 'Merges',
    summary: 'Do not merge these tools.',
    description: 'They are not proposed again until the definition of one of them changes.',
    ...DECISION,
    request: { ...DECISION.request, body: decideMergeBody },
    handle: async ({ params: { catalog, id }, ...asked }) =>
      decided(await merges.reject(catalog, id, optionsOf(asked))),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/merges/{id}/undo',
    name: 'undoMerge',
    tag: 'Merges',
    summary: 'Take an approved merge back.',
    description:
      'Its tools are served as they were put, with what was learned about each of them; merges that it had taken in are served again. It can be approved again.',
    ...DECISION,
    request: { ...DECISION.request, body: decideMergeBody },
    handle: async ({ params: { catalog, id }, ...asked }) =>
      decided(await merges.undo(catalog, id, optionsOf(asked))),
  }),
];
