import type { ToolDefinition } from '../../ledger/tool-definition.ts';
import { OpenApiSchemas, Refusal, targetOf } from './openapi-schemas.ts';
import { type Fields, isFields, type Refused } from './tool-fields.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** The caller's HTTP client sets these: OpenAPI says that their descriptions are to be ignored. */
const OWN_HEADERS = new Set(['accept', 'content-type', 'authorization']);
const MAX_REFERENCES = 32;
/** Of the address of a server, in characters. */
const MAX_ADDRESS = 2048;

/**
 * Reads the operations of an OpenAPI 3 document, one tool per operation: its name is the `operationId`, or method and path
 * where there is none; its arguments are the parameters, and `body` for the request body. `metadata` says which method, path and
 * server address (`url`) it calls. Schemas stay as they are, unless they are too long for a tool: then names and types are left. What they refer to
 * comes with them in `$defs`. References to other documents are
 * never followed. An operation that cannot become a tool is refused, and no other one with it.
 *
 * Source: https://spec.openapis.org/oas/v3.1.1.html, and v3.0.4.html.
 */
export function openApiTools(document: Fields): { tools: ToolDefinition[]; refused: Refused[] } {
  const tools: ToolDefinition[] = [];
  const refused: Refused[] = [];
  const names = new Set<string>();
  const schemas = new OpenApiSchemas(document);
  const server = isFields(document.info) ? document.info.title : undefined;
  const attempt = (name: string, read: () => void): void => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused.push({ name, why: error.message });
    }
  };
  const readPath = (path: string, item: Fields): void => {
    for (const method of METHODS) {
      const operation = item[method];
      if (!isFields(operation)) continue;
      const name = nameOf(operation, method, path, names);
      names.add(name);
      attempt(name, () => {
        tools.push({
          name,
          description: descriptionOf(operation, item, method, path),
          inputSchema: schemas.standAlone(argumentsOf(document, operation, item)),
          ...(typeof server === 'string' && server.trim() !== '' && { server: server.trim() }),
          ...(isTexts(operation.tags) && { tags: operation.tags }),
          metadata: { method, path, ...serverAddress(operation, item, document) },
        });
      });
    }
  };
  const paths = Object.entries(isFields(document.paths) ? document.paths : {});
  for (const [path, item] of paths) attempt(path, () => readPath(path, resolved(document, item)));
  return { tools, refused };
}

function nameOf({ operationId }: Fields, method: string, path: string, taken: ReadonlySet<string>): string {
  if (typeof operationId === 'string' && operationId.trim() !== '' && !taken.has(operationId.trim())) {
    return operationId.trim();
  }
  return `${method}_${path.replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_|_$/g, '')}`;
}

function descriptionOf(operation: Fields, item: Fields, method: string, path: string): string {
  const texts = [operation.summary ?? item.summary, operation.description ?? item.description];
  const said = texts.filter((text) => typeof text === 'string').map((text) => text.trim());
  const [summary, ...rest] = [...new Set(said)].filter((text) => text !== '');
  if (summary === undefined) return `${method.toUpperCase()} ${path}`;
  return [summary, ...rest].join('\n\n');
}

/** Its first server, variables with their defaults. It may be relative to the address of the document, which is not known here. */
function serverAddress(...places: readonly Fields[]): { readonly url?: string } {
  const [server] = places
    .map(({ servers }) => (Array.isArray(servers) ? servers[0] : undefined))
    .filter(isFields);
  if (server === undefined) return {};
  const { url, variables } = server;
  if (typeof url !== 'string' || url === '' || url.length > MAX_ADDRESS) return {};
  const named = url.replace(/\{([^{}]+)\}/g, (reference, name: string) => {
    const variable = isFields(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isFields(variable) && typeof variable.default === 'string' ? variable.default : reference;
  });
  return named.length > MAX_ADDRESS ? {} : { url: named.replace(/(?<!\/)\/$/, '') };
}

function argumentsOf(document: Fields, operation: Fields, item: Fields): Fields {
  const properties = new Map<string, Fields>();
  const required: string[] = [];
  for (const parameter of parametersOf(document, operation, item)) {
    const { name, description } = parameter;
    const schema = schemaIn(parameter);
    properties.set(name, typeof description === 'string' ? { description, ...schema } : schema);
    if (parameter.required === true) required.push(name);
  }
  if (operation.requestBody !== undefined) {
    const body = resolved(document, operation.requestBody);
    const name = properties.has('body') ? 'request_body' : 'body';
    properties.set(name, bodySchema(body));
    if (body.required === true) required.push(name);
  }
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}

type Parameter = Fields & { readonly name: string };

/** Those of the operation take the place of those of its path that have the same name and place. */
function parametersOf(document: Fields, operation: Fields, item: Fields): Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const list of [item.parameters, operation.parameters]) {
    for (const given of Array.isArray(list) ? list : []) {
      const parameter = resolved(document, given);
      const { name, in: place } = parameter;
      if (typeof name !== 'string' || (place === 'header' && OWN_HEADERS.has(name.toLowerCase()))) continue;
      parameters.set(`${place} ${name}`, parameter as Parameter);
    }
  }
  // Of several places with the same name the first is the argument.
  const byName = new Map([...parameters.values()].reverse().map((one) => [one.name, one] as const));
  return [...byName.values()].reverse();
}

/** The schema of a parameter, which may stand in its one media type. */
function schemaIn({ schema, content }: Fields): Fields {
  if (isFields(schema)) return schema;
  const [type] = isFields(content) ? Object.values(content) : [];
  return isFields(type) && isFields(type.schema) ? type.schema : {};
}

function bodySchema({ content, description }: Fields): Fields {
  const types = isFields(content) ? Object.entries(content) : [];
  const json = types.find(([type]) => /^application\/(\w+\+)?json\b|^\*\/\*$/.test(type)) ?? types[0];
  const [, type] = json ?? [];
  const schema = isFields(type) && isFields(type.schema) ? type.schema : {};
  return typeof description === 'string' ? { description, ...schema } : schema;
}

/** Follows the references of anything but a schema. */
function resolved(document: Fields, given: unknown): Fields {
  let current = given;
  for (let steps = 0; steps < MAX_REFERENCES; steps++) {
    if (!isFields(current)) throw new Refusal('it refers to something that is not there');
    if (typeof current.$ref !== 'string') return current;
    current = targetOf(document, current.$ref);
  }
  throw new Refusal('its references lead round in a circle');
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === 'string');
}
