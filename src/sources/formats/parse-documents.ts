import { parseAllDocuments } from 'yaml';
import { isFields } from './tool-fields.ts';
import { UnreadableError } from './unreadable-error.ts';

const SHAPES =
  'Tools come as JSON, JSON lines or YAML: MCP tools/list, OpenAI, Anthropic, OpenAPI 3, or an array of {name, description, inputSchema}.';

/**
 * Reads a file as JSON, JSON lines or YAML. Returns its values: one per document, or one per line.
 * @throws UnreadableError that says what is wrong with it, and in which line
 */
export function parseDocuments(text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (whole) {
    if (/^\s*</.test(text)) throw new UnreadableError(`The file is HTML or XML, not JSON. ${SHAPES}`);
    const lines = text.split('\n').map((line, index) => ({ line: line.trim(), number: index + 1 }));
    const filled = lines.filter(({ line }) => line !== '');
    const parsed = jsonLines(filled);
    if (!(parsed instanceof UnreadableError)) return parsed;
    const first = filled.find(({ line }) => !/^(?:#|%|---)/.test(line))?.line ?? '';
    const isJson = /^[[{]/.test(first);
    // A line that is JSON says what the file was meant to be; reading megabytes of such lines as YAML takes long.
    const documents = isJson && filled.length > 1 && isJsonText(first) ? [] : yamlDocuments(text, isJson);
    if (documents.length > 0) return documents;
    if (filled.length === 0) throw parsed;
    if (filled.length === 1)
      throw new UnreadableError(`The file is not JSON: ${(whole as Error).message}. ${SHAPES}`);
    throw new UnreadableError(`${parsed.message} ${SHAPES}`);
  }
}

/** Returns one value per line; an error that names the line if one is no JSON. */
function jsonLines(
  lines: readonly { readonly line: string; readonly number: number }[],
): unknown[] | UnreadableError {
  const values: unknown[] = [];
  for (const { line, number } of lines) {
    try {
      values.push(JSON.parse(line));
    } catch (error) {
      const why = (error as Error).message;
      return new UnreadableError(`The file is neither JSON nor JSON lines: line ${number}: ${why}.`);
    }
  }
  return values.length > 0 ? values : new UnreadableError('The file is empty.');
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As in JSON, the last of several members with one name counts: comparing all of them takes quadratic time. */
const YAML_OPTIONS = { uniqueKeys: false };
/** Members that `<<` may copy in one file. */
const MAX_MERGED = 1_000_000;

/**
 * Returns the lists and objects of a YAML file; none if it is plain text.
 * @param isJson it begins like JSON: what is wrong with it as YAML says nothing
 * @throws UnreadableError if it is YAML with a fault
 */
function yamlDocuments(text: string, isJson: boolean): unknown[] {
  try {
    const values = parseAllDocuments(text, YAML_OPTIONS).map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      // All aliases of an anchor are one value: how much a tool may stand for is judged tool by tool.
      return merged(document.toJS({ maxAliasCount: -1 }));
    });
    return values.filter((value) => typeof value === 'object' && value !== null);
  } catch (error) {
    if (isJson) return [];
    const { name, message } = error as Error;
    const [why] = message.replace('Maximum call stack size exceeded', 'it is nested too deep').split('\n');
    throw new UnreadableError(
      name === 'YAMLParseError'
        ? `The file is not JSON, and not YAML either: ${why}`
        : `This YAML cannot be read: ${why}.`,
    );
  }
}

/** Puts what `<<` names into the objects that have it, each once; the parser does it again for every alias, which can double. */
function merged(root: unknown): unknown {
  const seen = new Set<unknown>();
  let copied = 0;
  const merge = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    for (const member of Object.values(value)) merge(member);
    if (Array.isArray(value) || !Object.hasOwn(value, '<<')) return;
    const sources = [(value as Record<string, unknown>)['<<']].flat();
    if (!sources.every(isFields)) return;
    Reflect.deleteProperty(value, '<<');
    for (const [key, member] of sources.flatMap((source) => Object.entries(source))) {
      if (++copied > MAX_MERGED) throw new Error(`"<<" copies more than ${MAX_MERGED} members`);
      if (Object.hasOwn(value, key)) continue;
      // An assignment to __proto__ would not make a member.
      Object.defineProperty(value, key, {
        value: member,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  };
  merge(root);
  return root;
}
