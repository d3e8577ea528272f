import { TOOL_KINDS, type ToolDefinition } from '../../ledger/tool-definition.ts';

/** An object of a JSON document. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A tool of a file that cannot go into a catalog. */
export interface Refused {
  readonly name: string;
  readonly why: string;
}

/** Where a schema may stand: ours and MCP, Anthropic, OpenAI. */
const SCHEMA_FIELDS = ['inputSchema', 'input_schema', 'parameters'];
/** Fields that say nothing which is not said elsewhere: ids of data sets, what our own API and providers add. */
const EMPTY_FIELDS = ['id', 'type', 'definitionHash', 'addedAt', 'providerName'];
/** What OpenAI and Anthropic are told about one call of theirs: no property of the tool. */
const PROVIDER_FIELDS = ['strict', 'defer_loading', 'cache_control', 'input_examples', 'allowed_callers'];
const NOT_KEPT = new Set([...SCHEMA_FIELDS, ...EMPTY_FIELDS, ...PROVIDER_FIELDS]);
/** Fields of our own shape and of MCP's; others are kept as well, but do not tell a tool from anything else. */
const TOOL_FIELDS = [
  ...['name', 'title', 'description', 'outputSchema', 'annotations', 'icons', 'execution', '_meta'],
  ...['kind', 'server', 'tags', 'examples', 'replaces', 'metadata'],
  ...['preconditions', 'postconditions', 'failureModes', 'exemplars', 'negativeExamples'],
];
const KNOWN = new Set([...TOOL_FIELDS, ...NOT_KEPT]);

/** Returns whether this can be a tool: it has a schema, or a description and nothing that tools do not have. */
export function isTool(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (SCHEMA_FIELDS.some((field) => isFields(value[field]) || value[field] === null)) return true;
  return typeof value.description === 'string' && Object.keys(value).every((field) => KNOWN.has(field));
}

/** What OpenAI and Anthropic call tools that they define themselves, and `custom`, which takes text; a date may follow. */
const PROVIDER_TYPES =
  /^(web_search|web_fetch|file_search|tool_search|code_interpreter|code_execution|image_generation|computer|computer_use|bash|shell|local_shell|text_editor|apply_patch|memory|mcp|mcp_toolset|advisor|custom)(_.*)?$/;

/** Returns whether a provider defines this tool, as `{type: "web_search"}`: there is nothing to route to. */
export function isProviderTool({ type, ...fields }: Fields): boolean {
  if (typeof type !== 'string' || !PROVIDER_TYPES.test(type)) return false;
  return !SCHEMA_FIELDS.some((field) => isFields(fields[field]));
}

/** Returns the names of fields with content that are left out. */
export function fieldsNotTaken(fields: Fields): string[] {
  return Object.entries(fields)
    .filter(([name, value]) => value != null && value !== false && isLeftOut(name, value))
    .map(([name]) => name)
    .filter((name) => !SCHEMA_FIELDS.includes(name) && !EMPTY_FIELDS.includes(name));
}

/**
 * Returns a tool with all members of `fields` that say something about the tool, known or not.
 * @returns a tool whose values are not checked yet; null when its schema is no object
 */
export function toolOf(fields: Fields & { readonly name: string }): ToolDefinition | null {
  const { name, description } = fields;
  const schema = SCHEMA_FIELDS.map((field) => fields[field]).find((value) => value != null);
  if (schema !== undefined && !isFields(schema)) return null;
  const kept = Object.entries(fields).filter(([field, value]) => value != null && !isLeftOut(field, value));
  return {
    ...Object.fromEntries(kept),
    name: name.trim(),
    description: typeof description === 'string' ? description : '',
    inputSchema: schema ?? { type: 'object' },
  };
}

/** A `kind` of another world, such as `function`, is none of ours. */
function isLeftOut(field: string, value: unknown): boolean {
  return NOT_KEPT.has(field) || (field === 'kind' && !TOOL_KINDS.some((kind) => kind === value));
}

/** The first names, quoted. */
export function someOf(names: readonly string[], most = 5): string {
  const some = names.slice(0, most).map((name) => `"${name}"`);
  return `${some.join(', ')}${names.length > some.length ? ', …' : ''}`;
}

/** What is put before the names of tools that servers share: the name of the server without blanks, and a dot. */
export function serverPrefix(server: string): string {
  return `${server.trim().replace(/\s+/g, '_')}.`;
}
