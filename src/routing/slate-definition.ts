import type { SlateFormat } from '../decisions/decision.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { providerName } from '../ledger/provider-name.ts';
import { listedTool, type ToolDefinition } from '../ledger/tool-definition.ts';
import { firstParagraph } from '../retrieval/document-text.ts';
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
 * Returns the definition as text in the context of a language model; of a tool without one, its name. Of MCP's members models
 * get the name, the description and the input schema: the others are for the client.
 */
export function textForModel(format: SlateFormat, detail: DetailLevel, tool: ToolDefinition): string {
  if (format === 'mcp') {
    const { name, description, inputSchema } = LEVELS[detail](tool);
    return JSON.stringify({ name, description, inputSchema });
  }
  // A reference becomes the definition there.
  const sent = format === 'anthropic-tool-reference' ? 'anthropic' : format;
  const definition = definitionIn(sent, detail, tool);
  return definition === undefined ? tool.name : JSON.stringify(definition);
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
const openAiFunction = ({ name, description, inputSchema }: ShownTool) => ({
  name: providerName(name),
  description,
  parameters: providerSchema(inputSchema),
});

const openAiFlat = (shown: ShownTool) => ({
  type: 'function',
  ...openAiFunction(shown),
  // Without this it is strict there, and strict schemas may not have optional parameters.
  strict: false,
});

const anthropicTool = ({ name, description, inputSchema }: ShownTool) => ({
  name: providerName(name),
  description,
  input_schema: providerSchema(inputSchema),
});

const SHAPES: Readonly<Record<SlateFormat, (shown: ShownTool) => unknown>> = {
  mcp: (shown) => shown,
  openai: (shown) => ({ type: 'function', function: openAiFunction(shown) }),
  'openai-responses': openAiFlat,
  'openai-tool-search-output': (shown) => ({ ...openAiFlat(shown), defer_loading: true }),
  anthropic: anthropicTool,
  // The definition itself is in the caller's `tools`, with `defer_loading`.
  'anthropic-tool-reference': ({ name }) => ({ type: 'tool_reference', tool_name: providerName(name) }),
  'anthropic-tool-addition': (shown) => ({
    type: 'tool_addition',
    tool: { type: 'tool_definition', definition: anthropicTool(shown) },
  }),
  names: () => undefined,
};

/** A tool of the slate with its definition, in the format that is composed. */
export interface DefinedTool {
  readonly tool: ToolDefinition;
  readonly definition: unknown;
  /** The caller has it already, byte for byte. */
  readonly isCarried?: boolean;
}

/**
 * Returns the definitions of a slate as one part of a request to the provider, best tool first; undefined: in this format they are a
 * list of nothing but the definitions.
 * - `openai-responses`: elements of `tools`, in one namespace for each server.
 * - `openai-tool-search-output`: the item of `input`, without the `call_id` that it answers.
 * - `anthropic-tool-reference`: the `content` of the tool result.
 * - `anthropic-tool-addition`: the message.
 *
 * @param appends what was served stays where it is: what goes into the middle of a conversation has only what is new, and there are no
 *   namespaces in `tools`, where a new tool of an old namespace would come before others
 */
export function composedDefinitions(
  format: SlateFormat,
  slate: readonly DefinedTool[],
  appends = false,
): unknown {
  if (!appends) return COMPOSED[format]?.(slate);
  if (format === 'openai-responses') return slate.map(({ definition }) => definition);
  return COMPOSED[format]?.(slate.filter(({ isCarried }) => isCarried !== true));
}

const COMPOSED: Partial<Record<SlateFormat, (slate: readonly DefinedTool[]) => unknown>> = {
  'openai-responses': inNamespaces,
  'openai-tool-search-output': (slate) => ({
    type: 'tool_search_output',
    execution: 'client',
    status: 'completed',
    tools: inNamespaces(slate),
  }),
  'anthropic-tool-reference': (slate) => slate.map(({ definition }) => definition),
  'anthropic-tool-addition': (slate) => ({
    role: 'system',
    content: slate.map(({ definition }) => definition),
  }),
};

/** Puts the functions of each server into one namespace, where its first one stood; those without a server stay alone. */
function inNamespaces(slate: readonly DefinedTool[]): unknown[] {
  const namespaces = new Map<string, unknown[]>();
  return slate.flatMap(({ tool: { server }, definition }) => {
    if (server === undefined) return [definition];
    const known = namespaces.get(server);
    if (known !== undefined) {
      known.push(definition);
      return [];
    }
    const tools = [definition];
    namespaces.set(server, tools);
    return [{ type: 'namespace', name: providerName(server), description: `Tools of ${server}.`, tools }];
  });
}

/** Longest description at level `brief`, in UTF-16 code units. */
export const BRIEF_DESCRIPTION = 200;

/** Of one language, so that every machine cuts alike; the rules for other languages are the same. */
const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Returns the first sentences of the first paragraph, as many as fit into `BRIEF_DESCRIPTION`. Of a first sentence that
 * is longer, the beginning, cut between two words and marked with "…".
 */
function briefDescription(description: string): string {
  const text = firstParagraph(description).replace(/\s+/g, ' ');
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
