import { pointedAt } from './brief-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A property with more alternatives takes anything: no model reads so many. */
const MOST_ALTERNATIVES = 50;

/** Returns a schema of arguments as MCP demands it: that of an object with properties. `{}` becomes one that takes anything. */
export function objectSchema(schema: Schema): Schema {
  if (schema.type === 'object' && isSchema(schema.properties)) return schema;
  return { ...schema, type: 'object', properties: isSchema(schema.properties) ? schema.properties : {} };
}

/**
 * Returns a schema of arguments as OpenAI and Anthropic take it: both refuse alternatives, conditions and references at its top.
 * Their properties become properties of the schema, and what all of them require stays required, so it takes all arguments that the
 * whole schema takes, and more. Deeper levels stay as they are.
 */
export function providerSchema(schema: Schema): Schema {
  const flat = flattened(schema, schema, new Set());
  if (flat === schema) return flat;
  // What only the top referred to is not needed any more.
  const { $defs: _, definitions: __, ...rest } = flat;
  return JSON.stringify(rest).includes('"$ref"') ? flat : rest;
}

/** @param followed pointers that were followed already: each is, once, so that circles end and the work stays small */
function flattened(schema: Schema, root: Schema, followed: Set<string>): Schema {
  const { oneOf, anyOf, allOf, not: _not, enum: _enum, $ref, ...rest } = schema;
  if (Object.keys(rest).length === Object.keys(schema).length) return objectSchema(schema);
  const together = [...listOf(allOf), pointed($ref, root, followed)];
  const branches = [...together, ...listOf(oneOf), ...listOf(anyOf)].map((branch) =>
    isSchema(branch) ? flattened(branch, root, followed) : {},
  );
  const required = new Set(listOf(rest.required));
  const own = isSchema(rest.properties) ? rest.properties : {};
  /** What the branches say about each property, by its JSON: equal ones once. */
  const others = new Map<string, Map<string, unknown>>();
  for (const [at, branch] of branches.entries()) {
    if (at < together.length) for (const name of listOf(branch.required)) required.add(name);
    for (const [name, property] of Object.entries(branch.properties ?? {})) {
      const known = others.get(name) ?? new Map<string, unknown>();
      others.set(name, known);
      if (known.size <= MOST_ALTERNATIVES) known.set(JSON.stringify(property), property);
    }
  }
  const added = [...others].map(([name, known]) => [name, anyOfThem([...known.values()])]);
  return {
    ...rest,
    type: 'object',
    properties: { ...Object.fromEntries(added), ...own },
    ...(required.size > 0 && { required: [...required] }),
  };
}

function anyOfThem(alternatives: readonly unknown[]): unknown {
  if (alternatives.length > MOST_ALTERNATIVES) return {};
  return alternatives.length === 1 ? alternatives[0] : { anyOf: alternatives };
}

function pointed(reference: unknown, root: Schema, followed: Set<string>): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/') || followed.has(reference)) return {};
  followed.add(reference);
  return pointedAt(root, reference);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
