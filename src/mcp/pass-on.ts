import {
  type InputRequests,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { CallOptions } from '../gateway/call.ts';
import type { ServerOffers } from '../gateway/server-offers.ts';
import { type McpAnswer, McpError } from '../outgoing/mcp/mcp-connection.ts';

/** What clients hear of when the servers behind offer it. */
export const PASSED_ON = {
  prompts: { listChanged: true },
  resources: { listChanged: true },
  completions: {},
};

/** Answers what is no business of the router by asking the server that it is about: prompts, resources, completions. */
export function passOn(
  server: Server,
  offers: () => ServerOffers,
  callerOf: (context: ServerContext) => string,
): void {
  const options = (params: object | undefined, context: ServerContext) =>
    optionsOf(params, context, callerOf(context));
  // Members that nobody knows yet are passed on as well, so these types say less than there is.
  const handle = server.setRequestHandler.bind(server) as (
    method: string,
    handler: (request: { params?: Record<string, unknown> }, context: ServerContext) => Promise<unknown>,
  ) => void;
  handle('prompts/list', async (_, { mcpReq }) => ({ prompts: await offers().listPrompts(mcpReq.signal) }));
  handle('resources/list', async (_, { mcpReq }) => ({
    resources: await offers().listResources(mcpReq.signal),
  }));
  handle('resources/templates/list', async (_, { mcpReq }) => ({
    resourceTemplates: await offers().listResourceTemplates(mcpReq.signal),
  }));
  handle('prompts/get', ({ params }, context) =>
    answered(
      offers().getPrompt(
        String(params?.name),
        (params?.arguments ?? {}) as Record<string, string>,
        options(params, context),
      ),
    ),
  );
  handle('resources/read', ({ params }, context) =>
    answered(offers().readResource(String(params?.uri), options(params, context))),
  );
  handle('completion/complete', ({ params = {} }, context) => {
    const { _meta: _, ...rest } = params;
    return answered(offers().complete(rest, options(params, context)));
  });
}

/** What belongs to the exchange between the client and us stays here. */
const OURS = /^(progressToken$|bandolier\/)/;

/** Returns what a request has beside its own members: whom to tell of progress, what was answered to questions, and whose it is. */
export function optionsOf(
  params: object | undefined,
  { mcpReq }: ServerContext,
  caller: string,
): CallOptions {
  const { _meta = {}, task } = (params ?? {}) as {
    _meta?: Record<string, unknown>;
    task?: Record<string, unknown>;
  };
  const { progressToken } = _meta as { progressToken?: string | number };
  const state = mcpReq.requestState<string>();
  const meta = Object.fromEntries(Object.entries(_meta).filter(([name]) => !OURS.test(name)));
  return {
    caller,
    signal: mcpReq.signal,
    ...(Object.keys(meta).length > 0 && { meta }),
    ...(mcpReq.inputResponses !== undefined && { inputResponses: mcpReq.inputResponses }),
    ...(state !== undefined && { requestState: state }),
    ...(task !== undefined && { task }),
    ...(progressToken !== undefined && {
      onProgress: (progress) => {
        const notification = {
          method: 'notifications/progress' as const,
          params: { ...progress, progressToken },
        };
        mcpReq.notify(notification).catch(() => {});
      },
    }),
  };
}

/** A question of a server, as clients of both eras are asked it. */
export function question(inputRequests: Readonly<Record<string, unknown>>, requestState: string | undefined) {
  return inputRequired({
    inputRequests: inputRequests as InputRequests,
    ...(requestState !== undefined && { requestState }),
  });
}

async function answered(answer: Promise<McpAnswer<object>>): Promise<unknown> {
  try {
    const given = await answer;
    if (given.kind === 'complete') return given.result;
    if (given.kind === 'input-required') return question(given.inputRequests, given.requestState);
    return given.task;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const code = error.code ?? ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, error.message, error.data);
  }
}
