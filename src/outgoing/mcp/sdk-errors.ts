import {
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { OutgoingError } from '../request.ts';
import { NONSENSE } from './child-transport.ts';
import { McpError } from './mcp-connection.ts';
import { BROKEN_OFF } from './sdk-transport.ts';

/**
 * Errors of requests, as `McpError`. What matters most is whether the server may have acted: `unreachable` says that it
 * has not, so the request may be sent again.
 * @param end how the child process ended, where there is one and it has.
 * @param signal of the caller.
 */
export function requestError(error: unknown, end: string | null, signal: AbortSignal | undefined): McpError {
  if (error instanceof McpError) return error;
  const message = messageOf(error);
  if (signal?.aborted === true) return new McpError('aborted', 'the caller gave up', { cause: error });
  if (error instanceof UnauthorizedError || error instanceof OAuthError) {
    return new McpError('unauthorized', `the server wants authorization (${message})`, { cause: error });
  }
  if (error instanceof SdkHttpError) {
    const { status } = error.data as { status?: number };
    if (status === 401 || status === 403) {
      return new McpError('unauthorized', `the server refuses access (HTTP ${status})`, { cause: error });
    }
    // A session that the server has forgotten: nothing was done.
    if (status === 404)
      return new McpError('unreachable', 'the server does not know this session or address (HTTP 404)', {
        cause: error,
      });
    return new McpError('nonsense', message, { cause: error });
  }
  if (error instanceof ProtocolError) {
    if (error.code === NONSENSE) return new McpError('nonsense', error.message, { cause: error });
    if (error.code === BROKEN_OFF) return new McpError('closed', error.message, { cause: error });
    return new McpError('protocol', message, { code: error.code, data: error.data, cause: error });
  }
  const outgoing = outgoingErrorIn(error);
  if (outgoing !== null) {
    const { code } = (outgoing.cause ?? {}) as { code?: unknown };
    const isUnsent = !outgoing.passing || UNSENT.has(String(code));
    return new McpError(isUnsent ? 'unreachable' : 'closed', outgoing.message, { cause: error });
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return new McpError('timeout', 'the server did not answer in time', { cause: error });
    if (error.code === SdkErrorCode.ConnectionClosed)
      return new McpError('closed', end ?? message, { cause: error });
    if (error.code === SdkErrorCode.NotConnected)
      return new McpError('unreachable', end ?? message, { cause: error });
    return new McpError('nonsense', message, { cause: error });
  }
  if (end !== null) return new McpError('unreachable', end, { cause: error });
  if (message === 'Not connected') return new McpError('unreachable', message, { cause: error });
  return new McpError('nonsense', message, { cause: error });
}

/** Errors of connecting, as `McpError`: a connection that closes meanwhile was never there, so it is `unreachable`. */
export function connectionError(
  error: unknown,
  end: string | null,
  signal: AbortSignal | undefined,
): McpError {
  if (error instanceof McpError) return error;
  if (end !== null && signal?.aborted !== true) return new McpError('unreachable', end, { cause: error });
  const known = requestError(error, end, signal);
  if (known.failure !== 'closed') return known;
  return new McpError('unreachable', known.message, { cause: error });
}

/** What an error says, in at most 500 characters. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}

/** Failures of a connection that was never made. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function outgoingErrorIn(error: unknown): OutgoingError | null {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one instanceof OutgoingError) return one;
  }
  return null;
}
