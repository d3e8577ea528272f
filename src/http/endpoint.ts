import type { Context } from 'hono';
import { Problem } from '../errors/problem.ts';
import type { Ticket } from './admission.ts';
import { requestIdOf } from './answer-headers.ts';
import type { BodyIntake } from './body-intake.ts';
import { emptyBody } from './body-problems.ts';
import { documentationOf } from './documentation.ts';
import type {
  Endpoint,
  EndpointDefinition,
  EndpointParts,
  RequestContext,
  RequestInput,
  RequestParts,
} from './endpoint-definition.ts';
import { parseBody, requireJson } from './json-body.ts';
import { ORDINARY_BODY } from './json-scanner.ts';
import { type GivenBody, RequestInputs } from './request-input.ts';
import { STREAM_MEDIA_TYPES, streamOf } from './stream.ts';

export function endpoint<Parts extends RequestParts>(definition: EndpointDefinition<Parts>): Endpoint {
  const inputs = new RequestInputs(definition);
  return {
    documentation: documentationOf(definition),
    method: definition.method.toUpperCase(),
    path: definition.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    respond: async (context, parts) => {
      const use = async (body?: GivenBody): Promise<Response> =>
        answer(definition, await inputs.read(context, body), context, parts);
      if (definition.request.body === undefined) return use();
      return withBody(definition, context, parts.bodies, use);
    },
  };
}

/** The body counts in the process until it is answered. */
async function withBody<Parts extends RequestParts>(
  { bodyOptional = false, limits = ORDINARY_BODY }: EndpointDefinition<Parts>,
  context: Context,
  bodies: BodyIntake,
  use: (body: GivenBody) => Promise<Response>,
): Promise<Response> {
  const mayBeEmpty = bodyOptional && context.req.header('content-type') === undefined;
  if (!mayBeEmpty) requireJson(context.req);
  const held = await bodies.read(context, limits);
  try {
    if (held.bytes.length === 0) {
      if (bodyOptional) return await use({ value: {}, hasLists: false });
      throw emptyBody();
    }
    if (mayBeEmpty) requireJson(context.req);
    return await use({ value: await parseBody(held), hasLists: held.lists.length > 0 });
  } finally {
    held.release();
  }
}

async function answer<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
  input: RequestInput<Parts>,
  context: Context,
  { headers, log }: EndpointParts,
): Promise<Response> {
  const { body, stream, headers: own, status } = await definition.handle(input, new AskedContext(context));
  const shared = headers.of(context, body);
  if (stream !== undefined) {
    const format = definition.answers[status]?.stream ?? 'lines';
    const onError = (error: unknown): void => {
      const { path } = definition;
      log.error({ requestId: requestIdOf(context), path, err: error }, 'The answer broke off.');
    };
    const { ticket } = (context.env ?? {}) as { readonly ticket?: Ticket };
    return new Response(streamOf(stream, format, { ticket, onError }), {
      status,
      headers: { ...shared, 'content-type': STREAM_MEDIA_TYPES[format], ...own },
    });
  }
  if (body === undefined) return new Response(null, { status: 204, headers: { ...shared, ...own } });
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...shared, 'content-type': 'application/json', ...own },
  });
}

/** The signal is made when it is read first: most endpoints answer before a client could hang up. */
class AskedContext implements RequestContext {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  get requestId(): string {
    return requestIdOf(this.#context);
  }

  get signal(): AbortSignal {
    return hangUp(this.#context.req.raw.signal);
  }
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
