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

/** Bytes of English text or JSON per token of today's language models, within a fifth. */
const BYTES_PER_TOKEN = 4;

/** Returns about how many tokens `shown` takes in the context of a language model: a quarter of the UTF-8 bytes of its JSON. */
export function tokensOf(shown: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(shown)) / BYTES_PER_TOKEN);
}

/** Returns about how many tokens a tool takes whose name, description and input schema are shown. */
export function definitionTokens({ name, description, inputSchema }: ToolDefinition): number {
  return tokensOf({ name, description, inputSchema });
}
