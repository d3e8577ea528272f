import type { CallToolResult } from '@modelcontextprotocol/client';
import type { InputRequest, ListedTool, McpRequestOptions } from '../outgoing/mcp/mcp-connection.ts';

/** Which server a tool is called at, and by which name. */
export interface CallTarget {
  readonly source: string;
  readonly nameThere: string;
  /** The tool as its server listed it, where it is known: arguments are checked against its `inputSchema`, results against its `outputSchema`. */
  readonly tool?: ListedTool;
}

/** As for any request to a server; its time limits are the gateway's. */
export interface CallOptions extends Omit<McpRequestOptions, 'timeouts'> {
  /** Whose call it is. A server's question is put to the caller only if all that it is doing is his. */
  readonly caller?: string;
}

/** What any request to a server takes over; a task is asked for by calls alone. */
export function requestOf(options: CallOptions): McpRequestOptions {
  const { signal, onProgress, meta, inputResponses, requestState } = options;
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(meta === undefined ? {} : { meta }),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

/** What is wrong with arguments or a result, for one place in them. */
export interface SchemaProblem {
  /** JSON pointer; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * How a call ended. What it says about the tool differs: `ok` and `tool-error` come from the tool, `invalid-arguments`
 * and `invalid-result` from its schemas, `timeout` and `protocol-error` from its server; `unavailable` and `cancelled` say nothing about
 * the tool, and `input-required` and `task` are no end yet.
 */
export type CallOutcome =
  | { readonly kind: 'ok'; readonly result: CallToolResult }
  /** What the tool answered breaks its `outputSchema`. */
  | { readonly kind: 'invalid-result'; readonly result: CallToolResult }
  /** The tool ran and says that it failed (`isError`). */
  | { readonly kind: 'tool-error'; readonly result: CallToolResult }
  /** The arguments break the tool's schema: nothing was sent. */
  | { readonly kind: 'invalid-arguments'; readonly problems: readonly SchemaProblem[] }
  | { readonly kind: 'timeout'; readonly message: string }
  /** An error of JSON-RPC, an answer that is no MCP, or a connection that broke off in the call. */
  | {
      readonly kind: 'protocol-error';
      readonly message: string;
      /** Of JSON-RPC; null where the server sent none. */
      readonly code: number | null;
      readonly data?: unknown;
    }
  /** The server is down, unknown, or wants authorization: nothing was sent. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'cancelled' }
  /** The server wants to know something first: the same call again, with `inputResponses` and this `requestState`. */
  | {
      readonly kind: 'input-required';
      readonly inputRequests: Readonly<Record<string, InputRequest>>;
      readonly requestState?: string;
    }
  /** The server goes on by itself; `Gateway.task` asks for what became of it. */
  | { readonly kind: 'task'; readonly task: Readonly<Record<string, unknown>> };
