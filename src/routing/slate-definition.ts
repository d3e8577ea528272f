import type { SlateFormat } from '../decisions/decision.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { providerName } from '../ledger/provider-name.ts';
import { definitionTokens, listedTool, type ToolDefinition, tokensOf } from '../ledger/tool-definition.ts';
import { briefSchema } from './brief-schema.ts';
import { objectSchema, providerSchema } from './provider-schema.ts';

/** The part of a tool that an agent gets; without a description at level `names`. */
type ShownTool = Pick<ToolDefinition, 'name' | 'inputSchema'> &
  Partial<Pick<ToolDefinition, 'title' | 'description' | 'annotations' | 'execution'>>;

/**
 * Returns a tool's definition as an agent gets it: cut down to a level of detail, then in the shape that its model takes.
 * It is valid for its provider at every level, whatever the tool's name and schema are. Undefined: this format has none.
 */
export function definitionIn(format: SlateFormat, detail: DetailLevel, tool: ToolDefinition): unknown {
  return SHAPES[format](LEVELS[detail](tool));
}

/**
 * Returns about how many tokens the definition takes in the context of a language model; of a tool without one, its name. Of
 * MCP's members models get the name, the description and the input schema: the others are for the client.
 */
export function definitionTokensIn(format: SlateFormat, detail: DetailLevel, tool: ToolDefinition): number {
  if (format === 'mcp') return definitionTokens(LEVELS[detail](tool));
  return tokensOf(definitionIn(format, detail, tool) ?? tool.name);
}

/** Takes any arguments. OpenAI wants `properties` in every schema of a function, MCP and Anthropic the type. */
const ANY_ARGUMENTS = { type: 'object', properties: {} };

const LEVELS: Readonly<Record<DetailLevel, (tool: ToolDefinition) => ShownTool>> = {
  names: ({ name }) => ({ name, inputSchema: ANY_ARGUMENTS }),
  // Annotations and `execution` are part of it: what a client may do without asking, and how it has to call, are no details.
  brief: ({ name, title, description, inputSchema, annotations, execution }) => ({
    name,
    ...(title !== undefined && { title }),
    description: briefDescription(description),
    inputSchema: briefSchema(inputSchema),
    ...(annotations !== undefined && { annotations }),
    ...(execution !== undefined && { execution }),
  }),
  full: (tool) => ({ ...listedTool(tool), inputSchema: objectSchema(tool.inputSchema) }),
};

/** A description that is undefined is absent in JSON. */
const SHAPES: Readonly<Record<SlateFormat, (shown: ShownTool) => unknown>> = {
  mcp: (shown) => shown,
  openai: ({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name: providerName(name), description, parameters: providerSchema(inputSchema) },
  }),
  'openai-responses': ({ name, description, inputSchema }) => ({
    ...{ type: 'function', name: providerName(name), description, parameters: providerSchema(inputSchema) },
    // Without this it is strict there, and strict schemas may not have optional parameters.
    strict: false,
  }),
  anthropic: ({ name, description, inputSchema }) => ({
    name: providerName(name),
    description,
    input_schema: providerSchema(inputSchema),
  }),
  names: () => undefined,
};

/** Longest description at level `brief`, in UTF-16 code units. */
export const BRIEF_DESCRIPTION = 200;

/** Of one language, so that every machine cuts alike; the rules for other languages are the same. */
const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Returns the first sentences of the first paragraph, as many as fit into `BRIEF_DESCRIPTION`. Of a first sentence that
 * is longer, the beginning, cut between two words and marked with "…".
 */
function briefDescription(description: string): string {
  const [paragraph] = description.trim().split(/\n\s*\n/, 1);
  const text = paragraph.trimEnd().replace(/\s+/g, ' ');
  if (text.length <= BRIEF_DESCRIPTION) return text;
  let end = 0;
  for (const { index, segment } of SENTENCES.segment(text)) {
    const endOfSentence = index + segment.trimEnd().length;
    if (endOfSentence > BRIEF_DESCRIPTION) break;
    end = endOfSentence;
  }
  return end > 0 ? text.slice(0, end) : `${beginningOf(text)}…`;
}

/** Cuts between words, or, where a word is very long or the script has no spaces, between characters. */
function beginningOf(text: string): string {
  const longest = BRIEF_DESCRIPTION - 1;
  const space = text.lastIndexOf(' ', longest);
  if (space > BRIEF_DESCRIPTION / 2) return text.slice(0, space);
  return text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
}
