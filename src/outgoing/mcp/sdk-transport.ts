import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { outgoingFetch } from '../fetch.ts';
import { ChildTransport } from './child-transport.ts';
import type { McpAddress, McpConnectionOptions } from './mcp-connection.ts';
import { McpError } from './mcp-connection.ts';

/** For one request however much progress it makes, ms; the default of `McpTimeouts.totalMs`. */
export const TOTAL_MS = 3_600_000;
const MAX_BYTES = 64_000_000;
const END_SESSION_MS = 2_000;

/** Code of the error that stands for an answer which broke off. No code of JSON-RPC or MCP: the server did not send it. */
export const BROKEN_OFF = -1;

/** How messages get to a server and back: the pipes of a child process, or streamable HTTP. */
export type SdkTransport = ChildTransport | StreamableHTTPClientTransport;

/**
 * Returns a transport that is not started yet. @throws McpError unreachable: an address or a header is none. It quotes neither, since
 * secrets may stand in them.
 */
export function transportOf(
  address: McpAddress,
  options: McpConnectionOptions,
  log: (line: string) => void,
): SdkTransport {
  if ('command' in address) return new ChildTransport(address, log);
  if (!URL.canParse(address.url)) throw new McpError('unreachable', 'its address is none of http or https');
  for (const header of Object.entries(address.headers ?? {})) {
    try {
      new Headers([header]);
    } catch {
      throw new McpError('unreachable', `its header "${header[0]}" is none that HTTP can send`);
    }
  }
  const transport = new StreamableHTTPClientTransport(new URL(address.url), {
    fetch: outgoingFetch({
      allowPrivate: options.allowPrivate,
      trusted: address.isTrusted ? address.url : undefined,
      timeoutMs: options.timeouts?.totalMs ?? TOTAL_MS,
      maxBytes: MAX_BYTES,
    }),
    ...(address.headers === undefined ? {} : { requestInit: { headers: { ...address.headers } } }),
    ...(options.auth === undefined ? {} : { authProvider: options.auth }),
  });
  // Where the stream of a request breaks off without an answer, the SDK would let the request run into its timeout.
  const send = transport.send.bind(transport);
  transport.send = (message, sendOptions) => {
    if (!('method' in message) || !('id' in message)) return send(message, sendOptions);
    const onRequestStreamEnd = () => {
      sendOptions?.onRequestStreamEnd?.();
      const error = { code: BROKEN_OFF, message: 'the server broke off its answer' };
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    };
    return send(message, { ...sendOptions, onRequestStreamEnd });
  };
  return transport;
}

/** How a child process ended, in words; null while it runs, and over HTTP. */
export function endOf(transport: SdkTransport): string | null {
  return transport instanceof ChildTransport ? transport.end : null;
}

/** Ends a session over HTTP. Never throws: a server may refuse that, or be gone. */
export async function endSession(transport: SdkTransport): Promise<void> {
  if (transport instanceof ChildTransport) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_SESSION_MS);
  });
  await Promise.race([transport.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}
