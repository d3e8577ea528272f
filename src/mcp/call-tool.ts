import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { CallOptions, CallOutcome, CallTarget } from '../gateway/call.ts';
import type { CallEnd } from '../gateway/call-signals.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { question } from './pass-on.ts';

/** How a call ended, for those who learn from it, and what its client is answered. */
export interface EndedCall {
  readonly id: string;
  readonly end: CallEnd;
  readonly answer: CallToolResult | InputRequiredResult;
}

/** Calls a tool at its server. What goes wrong is a result that says so, as tools themselves do it. */
export async function callTool(
  gateway: Gateway,
  target: CallTarget,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions,
): Promise<EndedCall> {
  const first = await gateway.call(target, args, options);
  const outcome = first.kind === 'task' ? await untilDone(gateway, first.task, options) : first;
  return { id: randomUUID(), end: outcome.kind, answer: answerOf(outcome) };
}

function answerOf(outcome: CallOutcome): CallToolResult | InputRequiredResult {
  switch (outcome.kind) {
    case 'ok':
    case 'tool-error':
      return outcome.result;
    case 'input-required':
      return question(outcome.inputRequests, outcome.requestState);
    case 'invalid-arguments': {
      const problems = outcome.problems.map(({ path, message }) => `${path || '(arguments)'}: ${message}`);
      return failure(
        `The arguments do not fit the tool, and nothing was sent: ${problems.join('; ')}. describe_tool has its inputSchema.`,
      );
    }
    case 'unavailable': {
      const { message, retryAfterMs } = outcome;
      const when = retryAfterMs === null ? '' : ` It is tried again in ${Math.ceil(retryAfterMs / 1000)} s.`;
      return failure(`The tool cannot be called now: ${message}.${when} find_tools has others meanwhile.`);
    }
    case 'timeout':
    case 'protocol-error':
      return failure(`The server of the tool failed: ${outcome.message}. It may or may not have acted.`);
    case 'cancelled':
      return failure('The call was cancelled.');
    case 'task':
      return failure('The server went on by itself, and nobody asked what became of it.');
  }
}

function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

const POLL_MS = 1_000;

/** Waits for a task that a server made of a call, for as long as the client waits. */
async function untilDone(
  gateway: Gateway,
  started: Readonly<Record<string, unknown>>,
  { signal }: CallOptions,
): Promise<CallOutcome> {
  const options = signal === undefined ? {} : { signal };
  const params = { taskId: started.taskId };
  try {
    for (let task = started; ; ) {
      if (task.status === 'completed' || task.status === 'failed') {
        const answer = await gateway.task('tasks/result', params, options);
        if (answer.kind !== 'complete') return answer;
        const result = answer.result as CallToolResult;
        return { kind: result.isError === true ? 'tool-error' : 'ok', result };
      }
      if (task.status === 'cancelled') return { kind: 'cancelled' };
      const pause = Number(task.pollInterval ?? task.pollIntervalMs ?? POLL_MS);
      await wait(Math.min(Math.max(pause, 50), 60_000), undefined, options);
      const answer = await gateway.task('tasks/get', params, options);
      if (answer.kind !== 'complete') return answer;
      task = answer.result;
    }
  } catch (error) {
    if (signal?.aborted) {
      void gateway.task('tasks/cancel', params).catch(() => {});
      return { kind: 'cancelled' };
    }
    return { kind: 'protocol-error', code: null, message: (error as Error).message };
  }
}
