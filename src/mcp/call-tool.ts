import { randomUUID } from 'node:crypto';
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { CallOptions, CallOutcome, CallTarget } from '../gateway/call.ts';
import type { CallEnd } from '../gateway/call-signals.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { followTask, updateTask } from './follow-task.ts';
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
  return endedCall(await endOf(gateway, target, args, options));
}

/** Returns a call that ended in this way. */
export function endedCall(outcome: CallOutcome): EndedCall {
  return { id: randomUUID(), end: outcome.kind, answer: answerOf(outcome) };
}

/** A call that becomes a task lasts until its end: not all clients know tasks, and those of one era do not know those of the other. */
async function endOf(
  gateway: Gateway,
  target: CallTarget,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions,
): Promise<CallOutcome> {
  const updated = await updateTask(gateway, target, options);
  if (updated !== null) return updated;
  const outcome = await gateway.call(target, args, withTask(target, options));
  return outcome.kind === 'task' ? followTask(gateway, target, outcome.task, options) : outcome;
}

/** Some tools of 2025-11-25 can be called as tasks alone. */
function withTask({ tool }: CallTarget, options: CallOptions): CallOptions {
  const { taskSupport } = (tool?.execution ?? {}) as { readonly taskSupport?: unknown };
  return taskSupport === 'required' && options.task === undefined ? { ...options, task: {} } : options;
}

function answerOf(outcome: CallOutcome): CallToolResult | InputRequiredResult {
  switch (outcome.kind) {
    case 'ok':
    case 'invalid-result':
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
