import type {
  AuthProvider,
  CallToolResult,
  GetPromptResult,
  Progress,
  ReadResourceResult,
} from '@modelcontextprotocol/client';
import type { Command } from './child-transport.ts';

/** Where an MCP server is: a program to start, or an address that speaks streamable HTTP. */
export type McpAddress =
  | Command
  | {
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** The operator himself named it, so its host may be a private one. */
      readonly isTrusted?: boolean;
    };

/** What is known about a server from an earlier connection, so that the next one needs no probe. */
export type McpEra = '2026-07-28' | '2025-11-25';

export interface McpConnectionOptions {
  /** Of this program, which servers are told. */
  readonly version: string;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal;
  readonly timeouts?: McpTimeouts;
  /** Addresses of this machine and of its own network may be asked. */
  readonly allowPrivate: boolean;
  /** Tokens for servers that want OAuth. */
  readonly auth?: AuthProvider;
  /** Gets a line that the server wrote to its stderr, or a complaint about what it sent. Bounded in number and length. */
  readonly log?: (line: string) => void;
  /** The era that the server had before; it is found out when not given. */
  readonly era?: McpEra;
  /**
   * Answers what a server of 2025-11-25 asks its client (`elicitation/create`). Servers of 2026-07-28 ask by the answer
   * `input-required` instead. Without it, no server is told that anybody can be asked.
   */
  readonly onInputRequest?: (request: InputRequest, signal: AbortSignal) => Promise<Record<string, unknown>>;
}

export interface McpTimeouts {
  /** Until the server can be used, ms: it may have to be downloaded first. 30 s by default. */
  readonly connectMs?: number;
  /** For one request, counted again from each sign of progress, ms. 120 s by default. */
  readonly requestMs?: number;
  /** For one request however much progress it makes, ms. One hour by default. */
  readonly totalMs?: number;
}

/** What a server wants to know before it goes on, as `elicitation/create` has it. */
export interface InputRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A tool as its server lists it. Members other than the name are unchecked. */
export interface ListedTool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** A list of a server, whole, with the time for which it may be taken as current, ms; null when none was stated. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly ttlMs: number | null;
}

export interface McpRequestOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** `_meta` of the request. What the protocol itself keeps there is set by the connection. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Answers to an `input-required` of the same request, and the state that came with it. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
  /** Asks for a task in place of the result: `{ttl?}` of 2025-11-25; servers of 2026-07-28 decide for themselves. */
  readonly task?: Readonly<Record<string, unknown>>;
  readonly timeouts?: McpTimeouts;
}

/** What a server answers. Results are as the server sent them, with members that nobody knows yet. */
export type McpAnswer<Result> =
  | { readonly kind: 'complete'; readonly result: Result }
  | {
      readonly kind: 'input-required';
      readonly inputRequests: Readonly<Record<string, InputRequest>>;
      readonly requestState?: string;
    }
  /** The server goes on by itself; `task` is what it said about that. */
  | { readonly kind: 'task'; readonly task: Readonly<Record<string, unknown>> };

/** A server that we are connected to. Every method throws `McpError`. */
export interface McpConnection {
  readonly era: McpEra;
  readonly server: { readonly name: string; readonly version: string } | null;
  readonly instructions: string | null;
  /** What the server offers, e.g. `{tools: {listChanged: true}, prompts: {}}`. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /**
   * All tools, from all pages, read again when the list changes meanwhile. At most 10,000 tools and 64 MB.
   * Entries without a name are left out, and of two with one name the second.
   */
  listTools(options?: McpRequestOptions): Promise<Listed<ListedTool>>;
  listPrompts(options?: McpRequestOptions): Promise<Listed<ListedTool>>;
  listResources(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>>;
  listResourceTemplates(options?: McpRequestOptions): Promise<Listed<Record<string, unknown>>>;
  /** @param tool its definition, where the caller has it: it may say which arguments go into headers. */
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options?: McpRequestOptions & { readonly tool?: ListedTool },
  ): Promise<McpAnswer<CallToolResult>>;
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options?: McpRequestOptions,
  ): Promise<McpAnswer<GetPromptResult>>;
  readResource(uri: string, options?: McpRequestOptions): Promise<McpAnswer<ReadResourceResult>>;
  /** Any other request, e.g. `completion/complete` or `tasks/get`. */
  request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options?: McpRequestOptions,
  ): Promise<McpAnswer<Record<string, unknown>>>;
  /** Calls back when the server says that a list changed. Returns what ends that. */
  onListChanged(listener: (list: 'tools' | 'prompts' | 'resources') => void): () => void;
  /** Settles when the connection is over, with the reason in words. Over HTTP only after `close`. */
  readonly closed: Promise<string>;
  /** Ends a child and what it started; ends a session. */
  close(): Promise<void>;
}

/** Why a request to a server, or connecting to it, came to nothing. */
export type McpFailure =
  /** The server answered with an error of JSON-RPC. */
  | 'protocol'
  /** No answer in time. */
  | 'timeout'
  /** The caller's signal. */
  | 'aborted'
  /** The server ended or broke off the connection; it may have acted. */
  | 'closed'
  /** There is no connection: nothing was sent that the server could have acted on. */
  | 'unreachable'
  /** The server wants a token, or another one. */
  | 'unauthorized'
  /** The server answered something that is not MCP, or more than we read. */
  | 'nonsense';

export class McpError extends Error {
  override readonly name = 'McpError';
  readonly failure: McpFailure;
  /** Code and data of JSON-RPC, of `protocol` alone. */
  readonly code: number | null;
  readonly data: unknown;

  constructor(
    failure: McpFailure,
    message: string,
    more: { code?: number; data?: unknown; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.failure = failure;
    this.code = more.code ?? null;
    this.data = more.data;
  }
}
