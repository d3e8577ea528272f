import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { CallOptions, CallOutcome, CallTarget } from '../gateway/call.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { type InputRequest, McpError } from '../outgoing/mcp/mcp-connection.ts';

/** A task as servers of both eras describe it (MCP 2025-11-25, and the extension `io.modelcontextprotocol/tasks`). */
interface ServerTask {
  readonly taskId: string;
  readonly status?: string;
  /** Of the extension: what the task wants to know, by id of the question. */
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  /** Of the extension: what the tool answered, or why it failed. */
  readonly result?: CallToolResult;
  readonly error?: { readonly code?: number; readonly message?: string };
  /** ms; the first in 2025-11-25, the second in the extension. */
  readonly pollInterval?: number;
  readonly pollIntervalMs?: number;
}

const POLL_MS = 1_000;
const SHORTEST_POLL_MS = 50;
const LONGEST_POLL_MS = 60_000;

/** What a question of a task gives its client as state; the id of the task follows. */
const STATE = 'bandolier/task ';

/**
 * Waits for the end of a task that a server made of a call, for as long as the client waits; then it is cancelled. What the task wants
 * to know meanwhile is the outcome `input-required`, and the answer comes with the next call.
 */
export async function followTask(
  gateway: Gateway,
  target: CallTarget,
  started: Readonly<Record<string, unknown>>,
  { signal }: CallOptions,
): Promise<CallOutcome> {
  const options = signal === undefined ? {} : { signal };
  let task = (started.task ?? started) as ServerTask;
  const { taskId } = task;
  try {
    for (;;) {
      const end = await endOf(gateway, target, task, options);
      if (end !== null) return end;
      const pause = Number(task.pollIntervalMs ?? task.pollInterval) || POLL_MS;
      await wait(Math.min(Math.max(pause, SHORTEST_POLL_MS), LONGEST_POLL_MS), undefined, options);
      const answer = await gateway.task('tasks/get', { taskId }, options);
      if (answer.kind !== 'complete') return answer;
      task = { ...answer.result, taskId };
    }
  } catch (error) {
    if (!signal?.aborted) return failed(error);
    void gateway.task('tasks/cancel', { taskId }).catch(() => {});
    return { kind: 'cancelled' };
  }
}

/** Takes the answers to what a task wanted to know, and follows it again; null: the call is about no task. */
export async function updateTask(
  gateway: Gateway,
  target: CallTarget,
  options: CallOptions,
): Promise<CallOutcome | null> {
  const { requestState, inputResponses = {}, signal } = options;
  if (!requestState?.startsWith(STATE)) return null;
  const taskId = requestState.slice(STATE.length);
  try {
    await gateway.task('tasks/update', { taskId, inputResponses }, signal === undefined ? {} : { signal });
  } catch (error) {
    return signal?.aborted ? { kind: 'cancelled' } : failed(error);
  }
  return followTask(gateway, target, { taskId }, options);
}

/** Returns null while the task goes on. @throws McpError */
async function endOf(
  gateway: Gateway,
  target: CallTarget,
  { taskId, status, result, error, inputRequests }: ServerTask,
  options: CallOptions,
): Promise<CallOutcome | null> {
  switch (status) {
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'input_required':
      if (inputRequests !== undefined)
        return { kind: 'input-required', inputRequests, requestState: `${STATE}${taskId}` };
      break;
    case 'completed':
      if (result !== undefined) return gateway.outcomeOf(target, result);
      break;
    case 'failed':
      if (error !== undefined) {
        const { code = null, message = 'the task failed' } = error;
        return { kind: 'protocol-error', code, message };
      }
      break;
    default:
      return null;
  }
  // In 2025-11-25 the result is asked for, and a task that wants to know something asks when that is done.
  const answer = await gateway.task('tasks/result', { taskId }, options);
  return answer.kind === 'complete' ? gateway.outcomeOf(target, answer.result as CallToolResult) : answer;
}

function failed(error: unknown): CallOutcome {
  const code = error instanceof McpError ? error.code : null;
  return { kind: 'protocol-error', code, message: (error as Error).message };
}
