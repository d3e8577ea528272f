import type { ToolDefinition } from '../ledger/tool-definition.ts';

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
/** Fields of our own shape that are taken over as they are. */
const OWN_FIELDS = ['server', 'tags', 'examples', 'replaces', 'metadata'];
/** Fields that say nothing which is not said elsewhere: ids of data sets, what our own API and providers add. */
const EMPTY_FIELDS = ['id', 'type', 'definitionHash', 'addedAt', 'providerName'];
/** Fields of tools as MCP, OpenAI and Anthropic write them. */
const THEIR_FIELDS = [
  ...['title', 'outputSchema', 'annotations', 'icons', 'execution', '_meta'],
  ...['strict', 'defer_loading', 'cache_control', 'input_examples', 'allowed_callers'],
];
const TAKEN = new Set(['name', 'description', ...SCHEMA_FIELDS, ...OWN_FIELDS, ...EMPTY_FIELDS]);
const KNOWN = new Set([...TAKEN, ...THEIR_FIELDS]);

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

/** Returns the names of fields with content that our shape has no place for. */
export function fieldsNotTaken(fields: Fields): string[] {
  const without = Object.entries(fields).filter(([name]) => !TAKEN.has(name));
  return without.filter(([, value]) => value !== null && value !== false).map(([name]) => name);
}

/** @returns a tool whose values are not checked yet; null when its schema is no object */
export function toolOf(fields: Fields & { readonly name: string }): ToolDefinition | null {
  const { name, description } = fields;
  const schema = SCHEMA_FIELDS.map((field) => fields[field]).find((value) => value != null);
  if (schema !== undefined && !isFields(schema)) return null;
  const own = Object.fromEntries(
    OWN_FIELDS.flatMap((field) => (fields[field] == null ? [] : [[field, fields[field]]])),
  );
  return {
    name: name.trim(),
    description: typeof description === 'string' ? description : '',
    inputSchema: schema ?? { type: 'object' },
    ...own,
  };
}

/** The first names, quoted. */
export function someOf(names: readonly string[], most = 5): string {
  const some = names.slice(0, most).map((name) => `"${name}"`);
  return `${some.join(', ')}${names.length > some.length ? ', …' : ''}`;
}
