import type { InstructionDefinition } from '../ledger/instruction-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';

/**
 * Returns the text of a tool for the embedder: its name and the first paragraph of its description, which says what the tool is
 * for. Permissions, media types and limits that follow read the same for many tools, and make their vectors alike
 * (bench/long-descriptions.ts). The static model was trained on texts of this shape. Examples are not part of it: a vector that
 * has to stand for several queries stands for none of them (bench/examples.ts).
 */
export function denseText({ name, description }: ToolDefinition): string {
  return `${separateWords(name)}: ${firstParagraph(description)}`;
}

/** Returns the text of a tool for a reranker, which reads the whole description beside the query. */
export function rerankText({ name, description }: ToolDefinition): string {
  return `${separateWords(name)}: ${description}`;
}

/** Returns what stands before the first blank line; headings in Markdown and the blank lines after them do not end it. */
export function firstParagraph(description: string): string {
  const [paragraph] = /^(?:#.*\n\s*)*[\s\S]*?(?=\n\s*\n|$)/.exec(description.trim())!;
  return paragraph.trimEnd();
}

/**
 * Returns the text of a tool for BM25: server, tags, name, title, description, examples, what has to be so before and is so after a
 * call, how calls fail, the queries of its exemplars, and the names and descriptions of its parameters. Negative examples are no
 * part of it, or they would draw the very queries that they are to keep away (bench/tool-documents.ts).
 */
export function lexicalText({
  server = '',
  tags = [],
  name,
  title = '',
  description,
  examples = [],
  preconditions = [],
  postconditions = [],
  failureModes = [],
  exemplars = [],
  ...tool
}: ToolDefinition): string {
  const documents = [...preconditions, ...postconditions, ...failureModes];
  const queries = [...examples, ...exemplars.map(({ query }) => query)];
  const parts = [server, ...tags, name, title, description, ...queries, ...documents];
  return [...parts, ...parameterTexts(tool.inputSchema)].join('\n');
}

/** Returns the text of an instruction for BM25: the words of its id, domain, tags and text. The embedder reads its text alone. */
export function instructionText({
  id,
  domain = '',
  tags = [],
  text,
}: Pick<InstructionDefinition, 'id' | 'domain' | 'tags' | 'text'>): string {
  return [separateWords(id), domain, ...tags, text].join('\n');
}

const MAX_DEPTH = 12;
/** At most so many schemas and parameters of one definition are read; each `$ref` that is followed counts. */
const MAX_VISITS = 4_000;

/** `getUserInfo`, `get_user_info`, `users.messages.get` → separate words. */
function separateWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[_\-./:\s]+/g, ' ')
    .trim();
}

/** Returns the names and descriptions of all parameters, outermost first. Each schema is read once, so that a `$ref` may point to itself. */
function parameterTexts(root: unknown): string[] {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  let visits = 0;
  let level: unknown[] = [root];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (++visits > MAX_VISITS) return texts;
      const schema = isObject(item) && typeof item.$ref === 'string' ? resolve(root, item.$ref) : item;
      if (!isObject(schema) || seen.has(schema)) continue;
      seen.add(schema);
      if (depth > 0 && typeof schema.description === 'string') texts.push(schema.description);
      if (isObject(schema.properties)) {
        for (const name in schema.properties) {
          if (++visits > MAX_VISITS) return texts;
          texts.push(name);
          next.push(schema.properties[name]);
        }
      }
      for (const keyword of SCHEMA_KEYWORDS) {
        const inner = schema[keyword];
        if (Array.isArray(inner)) for (const one of inner.slice(0, MAX_VISITS)) next.push(one);
        else if (isObject(inner)) next.push(inner);
      }
    }
    level = next;
  }
  return texts;
}

const SCHEMA_KEYWORDS = ['items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'];

/** Returns what a JSON pointer within the same schema points to; undefined for every other reference. */
function resolve(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let node = root;
  for (const step of reference.slice(1).split('/').slice(1, 64)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Record<string, unknown>)[key];
  }
  return node;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
