import { readFileSync } from 'node:fs';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';

type Arguments = Readonly<Record<string, string>>;

export interface BenchTool {
  readonly definition: ToolDefinition;
  /** Crm, support, billing, analytics, data, ops or docs. */
  readonly domain: string;
  readonly writes: boolean;
  /** What a call changes, or finds out about. */
  readonly collection: string;
  /** The parameter that says which record: the first required one. */
  readonly key: string;
  readonly required: readonly string[];
  readonly parameters: ReadonlySet<string>;
}

const SUFFIXES: Readonly<Record<string, object>> = {
  '': { type: 'string' },
  '#': { type: 'integer' },
  '%': { type: 'number' },
  '?': { type: 'boolean' },
  '[]': { type: 'array', items: { type: 'string' } },
};

/** `name`, then `!` if it is required, then its type: none, a suffix, or `{a,b}` for one of these words. */
const PARAMETER = /^(\w+?)(?:(#|%|\?|\[\])|\{([^}]*)\})?(!)?(?:(#|%|\?|\[\])|\{([^}]*)\})? (.*)$/;

function parameterOf(text: string): { name: string; required: boolean; schema: object } {
  const found = PARAMETER.exec(text.trim());
  if (found === null) throw new Error(`This is no parameter: ${text}`);
  const [, name, before, wordsBefore, mark, after, wordsAfter, description] = found;
  const words = wordsBefore ?? wordsAfter;
  const type =
    words === undefined ? SUFFIXES[before ?? after ?? ''] : { type: 'string', enum: words.split(',') };
  return { name, required: mark !== undefined, schema: { ...type, description } };
}

/** Reads one line of `tools.txt`: name | read or write, and of what | description | parameters. */
function toolOf(line: string): BenchTool {
  const [name, effect, description, parameters] = line.split(' | ');
  const [verb, collection] = effect.split(' ');
  const read = parameters.split('; ').map(parameterOf);
  const required = read.filter((parameter) => parameter.required).map((parameter) => parameter.name);
  const domain = name.slice(0, name.indexOf('_'));
  const properties = Object.fromEntries(read.map((parameter) => [parameter.name, parameter.schema]));
  return {
    definition: { name, description, server: domain, inputSchema: { type: 'object', properties, required } },
    ...{ domain, collection, required, writes: verb === 'write', key: required[0] },
    parameters: new Set(read.map((parameter) => parameter.name)),
  };
}

/** The 120 tools. */
export function readTools(): BenchTool[] {
  const text = readFileSync(new URL('tools.txt', import.meta.url), 'utf8');
  return text.trim().split('\n').map(toolOf);
}

/**
 * What calls have changed and found out in one episode. A call keeps its arguments in the record that its key names: this is
 * the end state that validators look at.
 */
export class World {
  readonly #tools: ReadonlyMap<string, BenchTool>;
  readonly #records = new Map<string, Map<string, string>>();
  readonly #known = new Set<string>();

  constructor(tools: readonly BenchTool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
  }

  /** Calls a tool with those of the arguments that it has. Returns false, and changes nothing, if a required one is missing. */
  call(name: string, given: Arguments): boolean {
    const tool = this.#tools.get(name);
    if (tool === undefined || tool.required.some((parameter) => given[parameter] === undefined)) return false;
    const at = `${tool.collection}/${given[tool.key]}`;
    if (!tool.writes) {
      this.#known.add(at);
      return true;
    }
    const record = this.#records.get(at) ?? new Map<string, string>();
    for (const [field, value] of Object.entries(given))
      if (tool.parameters.has(field)) record.set(field, value);
    this.#records.set(at, record);
    return true;
  }

  knows(at: string): boolean {
    return this.#known.has(at);
  }

  /** The record at `collection/key`; absent: nothing has been written there. */
  record(at: string): ReadonlyMap<string, string> | undefined {
    return this.#records.get(at);
  }
}
