/** Keywords the sample's schemas may use, each with what its value has to be (JSON Schema 2020-12). */
const KEYWORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value)),
  description: isText,
  format: (value) => ['date', 'date-time', 'email', 'uri'].includes(value as string),
  pattern: (value) => isText(value) && compiles(value as string),
  enum: (value) => Array.isArray(value) && value.length > 0 && new Set(value).size === value.length,
  default: () => true,
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  required: (value) => Array.isArray(value) && value.length > 0 && value.every(isText),
  properties: isObject,
  items: isObject,
  additionalProperties: (value) => typeof value === 'boolean' || isObject(value),
};

/** What is wrong with a JSON Schema object, as `path: fault`; empty when nothing is. */
export function schemaFaults(schema: unknown, path = '$'): string[] {
  if (!isObject(schema)) return [`${path}: not an object`];
  const faults: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (!Object.hasOwn(KEYWORDS, keyword)) faults.push(`${path}: unknown keyword ${keyword}`);
    else if (!KEYWORDS[keyword](value)) faults.push(`${path}: bad ${keyword}`);
  }
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (!Object.hasOwn(properties, name)) faults.push(`${path}: requires ${name}, which is no property`);
  }
  if ('default' in schema && Array.isArray(schema.enum) && !schema.enum.includes(schema.default)) {
    faults.push(`${path}: its default is not in its enum`);
  }
  for (const [name, property] of Object.entries(properties)) {
    faults.push(...schemaFaults(property, `${path}.${name}`));
  }
  if ('items' in schema) faults.push(...schemaFaults(schema.items, `${path}[]`));
  if (isObject(schema.additionalProperties)) {
    faults.push(...schemaFaults(schema.additionalProperties, `${path}.*`));
  }
  return faults;
}

function isType(value: unknown): boolean {
  return ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'].includes(value as string);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}
