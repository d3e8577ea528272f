import { readFileSync } from 'node:fs';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { JudgedTool, Pair, Relation } from '../../src/merging/judge.ts';

export interface LabelledPair {
  readonly tools: Pair;
  readonly relation: Relation;
  readonly part: Part;
}

/** `for choosing` rules and thresholds; `kept aside`, though looked at while rules were changed; `fresh`: written after the rules. */
export type Part = 'for choosing' | 'kept aside' | 'fresh';

/** Reads `pairs.txt`, whose head says what a line is, and `fresh-pairs.txt`. @throws Error that names the line */
export function labelledPairs(): LabelledPair[] {
  return [
    ...pairsIn('pairs.txt', (at) => (at % 2 === 1 ? 'kept aside' : 'for choosing')),
    ...pairsIn('fresh-pairs.txt', () => 'fresh'),
  ];
}

function pairsIn(file: string, partOf: (at: number) => Part): LabelledPair[] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line, at) => {
    const parts = line.split(' | ');
    const [relation, a, b] = parts;
    if (parts.length !== 3 || !['same', 'overlapping', 'different'].includes(relation))
      throw new Error(`not "relation | tool | tool": ${line}`);
    return { tools: [toolOf(a), toolOf(b)], relation: relation as Relation, part: partOf(at) };
  });
}

/** Reads one tool in the notation of `pairs.txt`. @throws Error */
export function toolOf(text: string): JudgedTool {
  const found = /^(?:([\w-]+)\/)?([\w.-]+)\((.*?)\) (.+?)(?: \{(.+)\})?$/.exec(text);
  if (found === null) throw new Error(`not "name(parameters) description": ${text}`);
  const [, server, name, list, description, extra] = found;
  const parameters = (list.match(/(?:[^,"]|"[^"]*")+/g) ?? []).map((one) => parameterOf(one.trim()));
  const tool = {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
      required: parameters.filter(({ required }) => required).map(({ name }) => name),
    },
    ...(server !== undefined && { server }),
    ...(extra !== undefined && extraOf(extra)),
  };
  return { ...tool, hash: definitionHash(tool) };
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object'];

function parameterOf(text: string) {
  const found = /^(\w+)(\?)?(?::([\w|]+)(\[\])?)?(?: "(.+)")?$/.exec(text);
  if (found === null) throw new Error(`no parameter: ${text}`);
  const [, name, optional, said = 'string', list, description] = found;
  const one = TYPES.includes(said) ? { type: said } : { type: 'string', enum: said.split('|') };
  const schema = { ...(list ? { type: 'array', items: one } : one), ...(description && { description }) };
  return { name, required: optional === undefined, schema };
}

function extraOf(text: string) {
  const [, key, value] = /^(\w+)=(.+)$/.exec(text) ?? [];
  return key.endsWith('Hint') ? { annotations: { [key]: value === 'true' } } : { metadata: { [key]: value } };
}
