import { type Fields, isFields, someOf } from './tool-fields.ts';

/** Returns what a document without tools looks like, and where to get its tools, in sentences. */
export function whatItIs(value: unknown): string {
  if (!isFields(value)) return `This is ${Array.isArray(value) ? 'a list' : JSON.stringify(value)}.`;
  return otherDocument(value) ?? `This is an object with ${someOf(Object.keys(value))}.`;
}

/** Returns the same for documents that are known to hold no tools; null: it is none of them. */
export function otherDocument(value: Fields): string | null {
  for (const describe of KINDS) {
    const sentences = describe(value);
    if (sentences !== null) return sentences;
  }
  return null;
}

const has = (value: Fields, ...fields: readonly string[]): boolean =>
  fields.some((field) => Object.hasOwn(value, field));

const KINDS: readonly ((value: Fields) => string | null)[] = [
  (value) => {
    const servers = [value.mcpServers, value.servers].find(isServers);
    if (servers === undefined) return null;
    const names = Object.keys(servers);
    return (
      `This configures MCP servers (${someOf(names)}), and their tools are not in it. Ask each server for its list:\n` +
      `  npx @modelcontextprotocol/inspector --cli --config <this file> --server ${names[0] ?? '<name>'} --method tools/list | bandolier import - --server ${names[0] ?? '<name>'}`
    );
  },
  (value) =>
    has(value, 'swagger')
      ? `This is OpenAPI ${String(value.swagger)}; Bandolier reads 3.0 and 3.1. Convert it: npx swagger2openapi <this file> -o openapi.json`
      : null,
  (value) => (has(value, 'lockfileVersion') ? 'This looks like a package-lock.json of npm.' : null),
  (value) =>
    has(value, 'name', 'version') && has(value, 'scripts', 'dependencies', 'devDependencies')
      ? 'This looks like a package.json of npm.'
      : null,
  (value) => (has(value, 'compilerOptions') ? 'This looks like a tsconfig.json.' : null),
  ({ info }) =>
    isFields(info) && /postman/.test(String(info.schema))
      ? 'This looks like a Postman collection. Export it as OpenAPI 3.'
      : null,
  (value) =>
    has(value, 'query') && has(value, 'relevant', 'tools')
      ? 'This looks like labelled queries: `bandolier simulate --queries` takes them.'
      : null,
  (value) => (has(value, 'role') && has(value, 'content') ? 'This looks like a conversation.' : null),
  (value) =>
    has(value, '$schema', 'properties') && has(value, 'type', 'properties', '$defs')
      ? 'This looks like a JSON Schema: it says what something looks like, and has no name.'
      : null,
];

/** `{github: {command: "npx", …}, linear: {url: "https://…"}}`. */
function isServers(value: unknown): value is Fields {
  return isFields(value) && Object.values(value).every((one) => isFields(one) && has(one, 'command', 'url'));
}
