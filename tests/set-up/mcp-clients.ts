import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** A client of one era, over HTTP, as far as tests use it: the two libraries have it in common. */
export type McpClient = NewClient;

const identity = { name: 'test-client', version: '1.0.0' };

export const ERAS = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof ERAS)[number];

/** A client that is not connected yet. @param onTools is called with the tools whenever the server says that its list has changed */
export function clientOf(era: Era, onTools: (names: readonly string[]) => void = () => {}): McpClient {
  const tools = {
    onChanged: (_error: Error | null, list: readonly { readonly name: string }[] | null) =>
      onTools(list?.map(({ name }) => name) ?? []),
  };
  const options = { capabilities: { elicitation: {} }, listChanged: { tools } };
  return era === '2026-07-28'
    ? new NewClient(identity, { ...options, versionNegotiation: { mode: 'auto' } })
    : (new OldClient(identity, options) as unknown as McpClient);
}

export function httpTransport(era: Era, url: string, headers: Record<string, string> = {}): never {
  const options = { requestInit: { headers } };
  return (
    era === '2026-07-28' ? new NewHttp(new URL(url), options) : new OldHttp(new URL(url), options)
  ) as never;
}

/** A transport to a program that it starts. */
export function stdioTransport(
  era: Era,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): never {
  const options = { command, args: [...args], env: env as Record<string, string>, stderr: 'pipe' as const };
  return (era === '2026-07-28' ? new NewStdio(options) : new OldStdio(options)) as never;
}

/** Has a person answer what servers ask. */
export function answerQuestions(
  era: Era,
  client: McpClient,
  answer: (params: { readonly message: string }) => object,
): void {
  const method = era === '2026-07-28' ? 'elicitation/create' : ElicitRequestSchema;
  const handle = client.setRequestHandler.bind(client) as (
    method: unknown,
    handler: (request: { params: { message: string } }) => Promise<object>,
  ) => void;
  handle(method, async ({ params }) => answer(params));
}

/** A request of a client with a signal that takes it back, and a listener for its progress. */
export function callWith(
  era: Era,
  client: McpClient,
  call: { name: string; arguments?: Record<string, unknown> },
  options: { readonly signal?: AbortSignal; readonly onprogress?: (progress: { progress: number }) => void },
): Promise<unknown> {
  const rest = era === '2026-07-28' ? [options] : [undefined, options];
  return client.callTool(call, ...(rest as never[]));
}
