/** Source of the tools that are put over the HTTP API, from the command line and in simulations. */
export const API_SOURCE = 'api';

/** A tool as users put it. Fixed wire shape. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly server?: string;
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
  /** Names under which this tool was known before: what was learned about them moves here. */
  readonly replaces?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
