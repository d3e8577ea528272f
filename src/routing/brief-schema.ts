type JsonObject = Record<string, unknown>;

/** Keywords that are kept as they are: what a parameter is called, which type it has, whether it is needed. */
const KEPT = new Set(['$schema', '$id', '$anchor', '$ref', 'type', 'enum', 'const', 'required', 'nullable']);
/** Keywords that hold one schema or a list of schemas. */
const NESTED = new Set(['items', 'prefixItems', 'additionalProperties', 'anyOf', 'allOf']);
/** Keywords that hold schemas by name. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

/**
 * Returns a tool's input schema reduced to the names and types of its parameters, at every depth, and to which of them
 * are required; the values of an `enum` or `const` are a type, too. Descriptions, examples, defaults, formats, ranges
 * and conditions are left out. It takes all arguments that the whole schema takes, and more.
 */
export function briefSchema(schema: Readonly<JsonObject>): Readonly<JsonObject> {
  const referring: JsonObject[] = [];
  const brief = reduceObject(schema, referring);
  // A reference to what was left out would make the schema invalid.
  for (const one of referring) {
    if (!leadsSomewhere(brief, one.$ref)) Reflect.deleteProperty(one, '$ref');
  }
  return { type: 'object', properties: {}, ...brief };
}

/** Does the same with a schema that is a part of another one: returns it with the references that are left in it. */
export function reduceSchema(schema: unknown): { schema: unknown; references: string[] } {
  const referring: JsonObject[] = [];
  const reduced = reduce(schema, referring);
  const references = referring.map(({ $ref }) => $ref).filter((one) => typeof one === 'string');
  return { schema: reduced, references };
}

function reduce(schema: unknown, referring: JsonObject[]): unknown {
  if (Array.isArray(schema)) return schema.map((one) => reduce(one, referring));
  return isObject(schema) ? reduceObject(schema, referring) : schema;
}

function reduceObject(schema: Readonly<JsonObject>, referring: JsonObject[]): JsonObject {
  const brief: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (KEPT.has(keyword)) brief[keyword] = value;
    else if (NESTED.has(keyword)) brief[keyword] = reduce(value, referring);
    else if (BY_NAME.has(keyword) && isObject(value)) {
      const schemas = Object.entries(value).map(([name, one]) => [name, reduce(one, referring)] as const);
      brief[keyword] = Object.fromEntries(schemas);
    }
  }
  // Reduced, several of the alternatives may fit, so that exactly one of them can no longer be demanded.
  if (schema.oneOf !== undefined) brief.anyOf ??= reduce(schema.oneOf, referring);
  if (brief.$ref !== undefined) referring.push(brief);
  return brief;
}

/** Returns false for a pointer into this schema that points at nothing. Other references are left alone. */
function leadsSomewhere(root: JsonObject, reference: unknown): boolean {
  const isPointer = typeof reference === 'string' && reference.startsWith('#/');
  return !isPointer || pointedAt(root, reference) !== undefined;
}

/** Returns what a JSON pointer in fragment form (RFC 6901) points at; undefined when there is nothing. */
export function pointedAt(root: unknown, pointer: string): unknown {
  let current = root;
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as JsonObject)[key];
  }
  return current;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
