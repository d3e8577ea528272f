import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { Problem, type Violation } from '../errors/problem.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { Ticket } from './admission.ts';
import type { BodyIntake } from './body-intake.ts';
import { emptyBody, invalid } from './body-problems.ts';
import { type BodyCheck, bodyCheck, check } from './check-body.ts';
import { documentationOf } from './documentation.ts';
import type {
  Endpoint,
  EndpointDefinition,
  RequestContext,
  RequestInput,
  RequestParts,
} from './endpoint-definition.ts';
import type { FailureLog } from './failures.ts';
import { parseBody, requireJson } from './json-body.ts';
import { ORDINARY_BODY } from './json-scanner.ts';
import { STREAM_MEDIA_TYPES, streamOf } from './stream.ts';

export function endpoint<Parts extends RequestParts>(definition: EndpointDefinition<Parts>): Endpoint {
  const { body } = definition.request;
  const checkBody = body === undefined ? null : bodyCheck(body);
  return {
    documentation: documentationOf(definition),
    method: definition.method.toUpperCase(),
    path: definition.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    respond: (context, { bodies, log }) =>
      checkBody === null
        ? answer(definition, context, log)
        : withBody(definition, context, bodies, (value) =>
            answer(definition, context, log, { checkBody, value }),
          ),
  };
}

/** The body counts in the process until it is answered. */
async function withBody<Parts extends RequestParts>(
  { bodyOptional = false, limits = ORDINARY_BODY }: EndpointDefinition<Parts>,
  context: Context,
  bodies: BodyIntake,
  use: (value: unknown) => Promise<Response>,
): Promise<Response> {
  const mayBeEmpty = bodyOptional && context.req.header('content-type') === undefined;
  if (!mayBeEmpty) requireJson(context.req);
  const held = await bodies.read(context, limits);
  try {
    if (held.bytes.length === 0) {
      if (bodyOptional) return await use({});
      throw emptyBody();
    }
    if (mayBeEmpty) requireJson(context.req);
    return await use(await parseBody(held));
  } finally {
    held.release();
  }
}

async function answer<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
  context: Context,
  log: FailureLog,
  body?: GivenBody,
): Promise<Response> {
  const input = await readInput(definition, context, body);
  const answer = await definition.handle(input, requestContext(context));
  const { body: answered, stream, headers: own, status } = answer;
  context.var.announce?.(answered);
  if (stream !== undefined) {
    const format = definition.answers[status]?.stream ?? 'lines';
    const onError = (error: unknown): void => {
      const { path } = definition;
      log.error({ requestId: context.var.requestId, path, err: error }, 'The answer broke off.');
    };
    const { ticket } = (context.env ?? {}) as { readonly ticket?: Ticket };
    const body = streamOf(stream, format, { ticket, onError });
    return context.body(body, status as 200, { 'content-type': STREAM_MEDIA_TYPES[format], ...own });
  }
  if (answered === undefined) return context.body(null, 204, { ...own });
  const headers = { 'content-type': 'application/json', ...own };
  return context.body(JSON.stringify(answered), status as 200, headers);
}

/** The signal is made when it is read first: most endpoints answer before a client could hang up. */
function requestContext({ var: { requestId }, req }: Context): RequestContext {
  return {
    requestId,
    get signal() {
      return hangUp(req.raw.signal);
    },
  };
}

/** Its reason is a `Problem`, which is not logged, since the client has gone. */
function hangUp(gone: AbortSignal): AbortSignal {
  const hungUp = new AbortController();
  const abort = (): void =>
    hungUp.abort(
      new Problem('unavailable', 'The client hung up before it was answered.', 'Send the request again.'),
    );
  if (gone.aborted) abort();
  gone.addEventListener('abort', abort);
  return hungUp.signal;
}

interface GivenBody {
  readonly checkBody: BodyCheck;
  readonly value: unknown;
}

async function readInput<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
  context: Context,
  body: GivenBody | undefined,
): Promise<RequestInput<Parts>> {
  const { params, query, headers } = definition.request;
  const violations: Violation[] = [];
  const input = {
    params: params && check(params, context.req.param(), violations),
    query: query && check(query, singleValues(context.req.queries()), violations),
    headers: headers && check(headers, pick(headers, context), violations),
    body: body && (await inSlices(body.checkBody(body.value, violations))),
  };
  if (violations.length > 0)
    throw invalid(violations, (body && definition.fixFor?.(body.value)) ?? undefined);
  return input as RequestInput<Parts>;
}

/** A parameter given twice stays a list, which no schema accepts. */
function singleValues(queries: Record<string, string[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function pick(schema: z.ZodObject, context: Context): Record<string, string | undefined> {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, context.req.header(name)]));
}
