import {
  CLIENT_INFO_META_KEY,
  Client,
  type JSONRPCResponse,
  PROTOCOL_VERSION_META_KEY,
  type RequestOptions,
} from '@modelcontextprotocol/client';
import type {
  InputRequest,
  ListedTool,
  McpAnswer,
  McpConnectionOptions,
  McpRequestOptions,
  McpTimeouts,
} from './mcp-connection.ts';
import { McpError } from './mcp-connection.ts';
import { requestError } from './sdk-errors.ts';
import { endOf, type SdkTransport, TOTAL_MS } from './sdk-transport.ts';

const REQUEST_MS = 120_000;

/** Member of a result in which one whose type the SDK does not know is carried through the SDK. */
const UNKNOWN_RESULT = 'bandolier/result';

/** A schema that lets everything through: what a server sends reaches the caller as it is. */
const ANYTHING = {
  '~standard': {
    version: 1,
    vendor: 'bandolier',
    validate: (value: unknown) => ({ value: value as Record<string, unknown> }),
  },
} as const;

/** Kept by the connection, whoever the caller is. */
const RESERVED_META = new Set([PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, 'progressToken']);

/** What servers may ask of us where somebody is there to answer: questions to the user, and to wait for a task. */
const CALLER = { elicitation: { form: {}, url: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Answer = Promise<McpAnswer<Record<string, unknown>>>;

/**
 * The SDK's client of one transport, whose requests end in an `McpAnswer` or an `McpError`. It lets results through
 * whose type the SDK does not know, such as those of the extension for tasks; and hands an answer on after the
 * notifications that came before it, which the SDK handles a moment later.
 */
export class SdkClient extends Client {
  readonly #sdkTransport: SdkTransport;
  readonly #timeouts: McpTimeouts;

  constructor(transport: SdkTransport, options: McpConnectionOptions, connectMs: number) {
    const { onInputRequest, timeouts = {}, version } = options;
    super(
      { name: 'bandolier', version },
      {
        // Half of the time, so that a server that keeps silent about what it does not know is still asked to initialise.
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: connectMs / 2 } },
        inputRequired: { autoFulfill: false },
        capabilities: onInputRequest === undefined ? {} : CALLER,
        // The SDK's own validator compiles what a server sends.
        jsonSchemaValidator: {
          getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
        },
      },
    );
    this.#sdkTransport = transport;
    this.#timeouts = timeouts;
    if (onInputRequest === undefined) return;
    this.setRequestHandler('elicitation/create', async (request, context) => {
      const answer = await onInputRequest(
        { method: request.method, params: request.params },
        context.mcpReq.signal,
      );
      return answer as { action: 'accept' | 'decline' | 'cancel' };
    });
  }

  /** @throws McpError */
  ask(method: string, params: Readonly<Record<string, unknown>>, options: McpRequestOptions = {}): Answer {
    return this.#answered(options, (requestOptions) =>
      this.request({ method, params: paramsOf(params, options) }, ANYTHING, requestOptions),
    );
  }

  /** `tools/call`. @throws McpError */
  askTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: McpRequestOptions & { readonly tool?: ListedTool } = {},
  ): Answer {
    const { tool } = options;
    const params = { name, arguments: args };
    // Over HTTP a definition may want arguments repeated in headers, which the SDK does in a method of its own.
    const hasHeaders =
      tool !== undefined && JSON.stringify(tool.inputSchema ?? {}).includes('"x-mcp-header"');
    if (!hasHeaders) return this.ask('tools/call', params, options);
    return this.#answered(options, (requestOptions) =>
      this.callTool(paramsOf(params, options) as never, {
        ...requestOptions,
        toolDefinition: { name, inputSchema: tool.inputSchema as never },
      }),
    );
  }

  protected override _onresponse(response: JSONRPCResponse): void {
    const result = 'result' in response ? (response.result as Record<string, unknown> | null) : null;
    const type = result?.resultType;
    const isKnown = typeof type !== 'string' || type === 'complete' || type === 'input_required';
    const known = isKnown
      ? response
      : { ...response, result: { resultType: 'complete', content: [], [UNKNOWN_RESULT]: result } };
    queueMicrotask(() => super._onresponse(known));
  }

  async #answered(
    options: McpRequestOptions,
    request: (options: RequestOptions) => Promise<unknown>,
  ): Answer {
    const { signal, onProgress } = options;
    const timeouts = { ...this.#timeouts, ...options.timeouts };
    let result: unknown;
    try {
      result = await request({
        timeout: timeouts.requestMs ?? REQUEST_MS,
        maxTotalTimeout: timeouts.totalMs ?? TOTAL_MS,
        resetTimeoutOnProgress: true,
        allowInputRequired: true,
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined ? {} : { onprogress: onProgress }),
      });
    } catch (error) {
      throw requestError(error, endOf(this.#sdkTransport), signal);
    }
    if (typeof result !== 'object' || result === null)
      throw new McpError('nonsense', 'the answer is no object');
    return answerOf(result as Record<string, unknown>, options);
  }
}

function answerOf(
  { [UNKNOWN_RESULT]: unknown, ...known }: Record<string, unknown>,
  options: McpRequestOptions,
): McpAnswer<Record<string, unknown>> {
  if (unknown !== undefined) return { kind: 'task', task: unknown as Record<string, unknown> };
  if (known.resultType === 'input_required') {
    const { inputRequests, requestState } = known;
    return {
      kind: 'input-required',
      inputRequests: (inputRequests ?? {}) as Record<string, InputRequest>,
      ...(typeof requestState === 'string' ? { requestState } : {}),
    };
  }
  if (options.task !== undefined && typeof known.task === 'object' && known.task !== null)
    return { kind: 'task', task: known };
  return { kind: 'complete', result: known };
}

function paramsOf(
  params: Readonly<Record<string, unknown>>,
  { meta, inputResponses, requestState, task }: McpRequestOptions,
): Record<string, unknown> {
  const kept = Object.entries(meta ?? {}).filter(([key]) => !RESERVED_META.has(key));
  return {
    ...params,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(task === undefined ? {} : { task }),
    ...(kept.length === 0 ? {} : { _meta: Object.fromEntries(kept) }),
  };
}
