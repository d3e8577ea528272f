import { MAX_READ } from '../../routing/list-decisions.ts';
import type { RouteOptions } from '../../routing/route-query.ts';
import type { Routing } from '../../routing/routing.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint, RequestContext } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import {
  activationSchema,
  decisionExplanationSchema,
  decisionPageSchema,
  decisionParams,
  decisionQuery,
} from '../wire/decision.ts';
import { discoverAnswerSchema, discoverRequestSchema, sufficiencySchema } from '../wire/discover.ts';
import { idempotencyHeaders } from '../wire/parameters.ts';
import { routeAnswerSchema } from '../wire/route-answer.ts';
import { routeRequestSchema } from '../wire/route-request.ts';

export const routingEndpoints = (routing: Routing): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/route',
    name: 'route',
    tag: 'Routing',
    summary: 'Which tools are worth carrying for this query?',
    description:
      'Answers a slate of `k` tools and records the decision. Report outcomes with its `decisionId`.',
    request: { headers: idempotencyHeaders, body: routeRequestSchema },
    example: { query: 'I want my money back', k: 3 },
    answers: { 200: { description: 'The slate.', schema: routeAnswerSchema } },
    problems: ['catalog-not-found', 'idempotency-conflict', 'decision-expired'],
    handle: async ({ headers, body }, context) => ({
      status: 200,
      body: await routing.route(body, new OptionsOf(headers['idempotency-key'], context)),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/decisions/{decisionId}',
    name: 'explainDecision',
    tag: 'Routing',
    summary: 'Why were these tools shown?',
    description: 'Candidates with their features, scores and propensities, and what was reported since.',
    request: { params: decisionParams },
    answers: { 200: { description: 'The decision, explained.', schema: decisionExplanationSchema } },
    problems: ['decision-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await routing.explain(params.decisionId) }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/decisions/{decisionId}/discover',
    name: 'discoverTools',
    tag: 'Routing',
    summary: 'The slate does not suffice: which tools else?',
    description:
      'Adds further tools to the decision, which are reported as those of its slate, or sums the catalog up by server and domain. That a slate did not suffice teaches `sufficiency`. Where too much is asked for, 429 says when to ask again; a summary is answered all the same.',
    request: { params: decisionParams, headers: idempotencyHeaders, body: discoverRequestSchema },
    bodyOptional: true,
    example: { k: 5, rating: 0.2 },
    answers: { 200: { description: 'What was added.', schema: discoverAnswerSchema } },
    problems: [
      'decision-not-found',
      'decision-not-activated',
      'decision-expired',
      'idempotency-conflict',
      'too-many-discoveries',
      'too-many-requests',
    ],
    handle: async ({ params, headers, body }) => ({
      status: 200,
      body: await routing.discover(params.decisionId, body, { idempotencyKey: headers['idempotency-key'] }),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/sufficiency',
    name: 'getSufficiency',
    tag: 'Routing',
    summary: 'Do slates suffice, and is it known when they do not?',
    description:
      'How far predicted sufficiency came true (reliability curve, calibration error), the threshold, discoveries of the last day, and whether they are being refused.',
    request: { params: catalogParams },
    answers: { 200: { description: 'Figures of the catalog.', schema: sufficiencySchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: routing.sufficiency(params.catalog) }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/decisions',
    name: 'listDecisions',
    tag: 'Routing',
    summary: 'The decisions of a catalog, newest first.',
    description: `One page reads ${MAX_READ} decisions at most, some kilobytes each (in Redis: a range of the sorted set of ids, and a hash per decision), so a page of a filter that few match may be short, or empty: go on until \`nextCursor\` is null.`,
    request: { params: catalogParams, query: decisionQuery },
    answers: { 200: { description: 'One page.', schema: decisionPageSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, query: { limit, cursor, ...filter } }) => ({
      status: 200,
      body: await routing.list(params.catalog, filter, { limit, cursor }),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/decisions/{decisionId}/activate',
    name: 'activateDecision',
    tag: 'Routing',
    summary: 'The slate was really shown.',
    description: 'For decisions made with `activate: "later"`. Again: the first time stays.',
    request: { params: decisionParams },
    answers: { 200: { description: 'Rewards count from now on.', schema: activationSchema } },
    problems: ['decision-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await routing.activate(params.decisionId) }),
  }),
];

/**
 * The signal is made when it is read. A class, since V8 puts the getter of each object literal among what stays until the next
 * collection of the whole heap, and with it everything that the getter can reach: the whole request.
 */
class OptionsOf implements RouteOptions {
  readonly idempotencyKey: string | undefined;
  readonly #context: RequestContext;

  constructor(idempotencyKey: string | undefined, context: RequestContext) {
    this.idempotencyKey = idempotencyKey;
    this.#context = context;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }
}
