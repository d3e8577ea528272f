import type { ToolDefinition } from '../ledger/tool-definition.ts';

/** Of English prose and JSON, as the tokenizers of today's models cut them: four bytes a token, give or take a fifth. */
const BYTES_PER_TOKEN = 4;

/**
 * About how many tokens a definition takes in the context of a model: a quarter of the UTF-8 bytes of its JSON (name,
 * description, inputSchema). Worked out once for each definition, when it is first asked for.
 */
export class DefinitionTokens {
  readonly #known = new WeakMap<ToolDefinition, number>();

  of(tool: ToolDefinition): number {
    const known = this.#known.get(tool);
    if (known !== undefined) return known;
    const { name, description, inputSchema } = tool;
    const bytes = Buffer.byteLength(JSON.stringify({ name, description, inputSchema }));
    const tokens = Math.ceil(bytes / BYTES_PER_TOKEN);
    this.#known.set(tool, tokens);
    return tokens;
  }
}
