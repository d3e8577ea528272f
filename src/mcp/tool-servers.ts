import type { CallTarget } from '../gateway/call.ts';
import type { Gateway } from '../gateway/gateway.ts';

/** The servers that tools came from. */
export interface ToolServers {
  /** Returns where a tool is called; null: it came from no server, so its caller has to execute it. */
  targetOf(catalog: string, tool: string): CallTarget | null;
  /** Returns the servers of a catalog. */
  of(catalog: string): Gateway;
}

/** A call_tool of this name reads the rest of a result that was too long for one answer. */
export const REST_OF_RESULT = 'bandolier/rest';

/** Tells a model how to read on. */
export function describeRest(handle: string, shown: number, total: number): string {
  const call = JSON.stringify({ name: REST_OF_RESULT, arguments: { handle } });
  return `[${shown} of ${total} characters until here. call_tool ${call} answers what follows.]`;
}
