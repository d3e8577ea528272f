import type {
  CallToolResult,
  InputRequiredResult,
  ProgressNotificationParams,
} from '@modelcontextprotocol/server';

/** Where a tool is called: the source that it came from, and its name there. */
export interface CallTarget {
  readonly source: string;
  readonly nameThere: string;
}

export interface CallOptions {
  /** Aborts when the client cancels the call or hangs up. */
  readonly signal: AbortSignal;
  /** What the client sent beside the arguments, without what belongs to the exchange between it and us. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Answers to what the server asked in its last result, and the state that it gave with it. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
  /** Absent: the client wants to hear of no progress. */
  onProgress?(progress: Omit<ProgressNotificationParams, 'progressToken'>): void;
}

/** Calls tools at the servers that they came from. */
export interface ToolCalls {
  /** Returns where a tool is called; null: it came from no server, so its caller has to execute it. */
  targetOf(catalog: string, tool: string): CallTarget | null;
  call(
    catalog: string,
    target: CallTarget,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<CallToolResult | InputRequiredResult>;
}

/** For a service that has no connections to servers. */
export const NO_TOOL_CALLS: ToolCalls = {
  targetOf: () => null,
  call: async () => {
    throw new Error('There is no server to call.');
  },
};
