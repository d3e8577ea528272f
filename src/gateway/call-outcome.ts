import type { CallToolResult } from '@modelcontextprotocol/client';
import type { InputRequest } from '../outgoing/mcp/mcp-connection.ts';

/** What is wrong with arguments, for one place in them. */
export interface ArgumentProblem {
  /** JSON pointer into the arguments; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * How a call ended. What it says about the tool differs: `ok` and `tool-error` come from the tool, `invalid-arguments`
 * from its schema, `timeout` and `protocol-error` from its server; `unavailable` and `cancelled` say nothing about
 * the tool, and `input-required` and `task` are no end yet.
 */
export type CallOutcome =
  | { readonly kind: 'ok'; readonly result: CallToolResult }
  /** The tool ran and says that it failed (`isError`). */
  | { readonly kind: 'tool-error'; readonly result: CallToolResult }
  /** The arguments break the tool's schema: nothing was sent. */
  | { readonly kind: 'invalid-arguments'; readonly problems: readonly ArgumentProblem[] }
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
