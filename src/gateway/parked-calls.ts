import { randomBytes } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { McpAnswer } from '../outgoing/mcp/mcp-connection.ts';
import type { CallTarget } from './call.ts';
import type { OngoingCall } from './ongoing-call.ts';

const MAX_PARKED = 1_000;
const PARKED_MS = 600_000;

export interface ParkedCall {
  readonly target: CallTarget;
  readonly call: OngoingCall<McpAnswer<CallToolResult>>;
}

/**
 * Calls that wait for their callers to answer a question of the server. Each is kept for ten minutes, and at most 1,000
 * at once: one that is over its time, or the oldest where there are more, is ended, which cancels it at its server.
 */
export class ParkedCalls {
  readonly #parked = new Map<string, ParkedCall & { readonly timer: NodeJS.Timeout }>();

  /** Returns the `requestState` that takes the call out again, which nobody else can guess. */
  park(target: CallTarget, call: ParkedCall['call']): string {
    const requestState = randomBytes(16).toString('base64url');
    const timer = setTimeout(() => this.#end(requestState), PARKED_MS);
    timer.unref();
    this.#parked.set(requestState, { target, call, timer });
    const [oldest] = this.#parked.keys();
    if (this.#parked.size > MAX_PARKED) this.#end(oldest);
    return requestState;
  }

  /** Returns null for a call that is over, or that was taken out before. */
  take(requestState: string): ParkedCall | null {
    const parked = this.#parked.get(requestState);
    if (parked === undefined) return null;
    this.#parked.delete(requestState);
    clearTimeout(parked.timer);
    return parked;
  }

  close(): void {
    for (const requestState of [...this.#parked.keys()]) this.#end(requestState);
  }

  #end(requestState: string): void {
    this.take(requestState)?.call.end();
  }
}
