import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import type { Problem } from '../errors/problem.ts';
import type { Ticket } from './admission.ts';
import { requestIdOf } from './answer-headers.ts';
import type { BodyIntake } from './body-intake.ts';
import { invalid } from './body-problems.ts';
import type { EndpointParts, Mount } from './endpoint-definition.ts';
import { parseBody, requireJson } from './json-body.ts';
import type { BodyLimits } from './json-scanner.ts';
import { asProblem, PROBLEM_STATUS, problemHeaders, problemJson } from './problem-json.ts';
import { catalogName } from './wire/parameters.ts';

/** Answers requests of the Model Context Protocol. */
export interface McpFace {
  /** @param info.remote address of the client @throws Problem catalog-not-found */
  fetch(
    request: Request,
    info: { readonly catalog: string; readonly parsedBody: unknown; readonly remote: string },
  ): Promise<Response>;
}

/** One message. Arguments of tools may be long, such as a file that is to be written, and are in no list. */
const MESSAGE: BodyLimits = {
  bytes: 4 * 1024 * 1024,
  values: 100_000,
  elements: 10_000,
  tooManyElements: (list) => invalid([{ path: list, message: 'makes it more than 10000 elements' }]),
  loose: { bytes: 4 * 1024 * 1024, values: 50_000 },
};

/** Mounts the Model Context Protocol at `/mcp`, `/mcp/{catalog}` and `/mcp?catalog=`. */
export function mountMcp(mount: Mount, mcp: McpFace, { bodies, headers, log }: EndpointParts): void {
  const respond = async (context: Context): Promise<Response> => {
    try {
      return headers.markLast(await answer(context, mcp, bodies));
    } catch (error) {
      const problem = asProblem(error);
      if (problem.code === 'internal') {
        log.error(
          { requestId: requestIdOf(context), path: context.req.path, err: problem.cause },
          problem.message,
        );
      }
      return refusal(context, problem, headers.of(context));
    }
  };
  for (const path of ['/mcp', '/mcp/:catalog']) mount(['GET', 'POST', 'DELETE'], path, respond);
}

async function answer(context: Context, mcp: McpFace, bodies: BodyIntake): Promise<Response> {
  const { ticket, incoming } = (context.env ?? {}) as { ticket?: Ticket; incoming?: IncomingMessage };
  const info = { catalog: catalogOf(context), remote: incoming?.socket.remoteAddress ?? 'here' };
  if (context.req.method !== 'POST') {
    ticket?.pause();
    return mcp.fetch(context.req.raw, { ...info, parsedBody: undefined });
  }
  requireJson(context.req);
  const body = await bodies.read(context, MESSAGE);
  try {
    const parsedBody = await parseBody(body);
    // A tool may take minutes, during which there is nothing to do for its call here.
    if (isToolCall(parsedBody)) ticket?.pause();
    const response = await mcp.fetch(context.req.raw, { ...info, parsedBody });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) ticket?.pause();
    return response;
  } finally {
    body.release();
  }
}

/** @throws Problem validation-failed */
function catalogOf({ req }: Context): string {
  const { data, error } = catalogName
    .default('default')
    .safeParse(req.param('catalog') ?? req.query('catalog'));
  if (error === undefined) return data;
  throw invalid([{ path: 'catalog', message: error.issues[0].message }]);
}

/** Finding tools is work for this process; calling one is waiting for another. */
function isToolCall(body: unknown): boolean {
  const { method, params } = Object(body) as { method?: unknown; params?: { name?: unknown } };
  return method === 'tools/call' && params?.name !== 'find_tools';
}

/** Codes of JSON-RPC for what is wrong with a whole message. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;

/** A problem as clients of this protocol read it: an error of JSON-RPC that belongs to no message, with the problem as its data. */
function refusal(context: Context, problem: Problem, headers: Record<string, string>): Response {
  const status = PROBLEM_STATUS[problem.code];
  const code =
    problem.code === 'malformed-request' ? PARSE_ERROR : status >= 500 ? INTERNAL_ERROR : INVALID_REQUEST;
  const error = {
    code,
    message: `${problem.message} ${problem.suggestedFix}`,
    data: problemJson(problem, requestIdOf(context)),
  };
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: null, error }), {
    status,
    headers: { ...headers, ...problemHeaders(problem), 'content-type': 'application/json' },
  });
}
