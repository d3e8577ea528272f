import type { MergeStatus, ProposedMerge } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { counted, sentence } from './terminal.ts';

/** A merge as the service lists it. */
export interface ListedMerge extends Omit<ProposedMerge, 'members'> {
  readonly members: readonly string[];
  readonly status: MergeStatus;
  readonly digest: string;
  readonly actor?: string;
  readonly why?: string;
}

type Definition = Pick<ToolDefinition, 'name' | 'description' | 'inputSchema'>;

/** The definitions of members as they were put, by name; those that are gone are missing. */
export type Definitions = Readonly<Record<string, Definition>>;

/** A terminal that shows more is none to count on, in characters. */
const WIDTH = 80;
/** Members that are named, and whose definitions are shown, of one merge. */
export const MOST_NAMED = 5;

/** Returns a merge for whoever decides: what it does, why, and what speaks against it. */
export function mergeText(merge: ListedMerge): string {
  const { id, status, representative, members, confidence, evidence, tokensSaved, guarded, mappings, why } =
    merge;
  const { similarity, judge, reason, outcomes = [], notes = [] } = evidence;
  const renamed = members.flatMap((name) => {
    const { arguments: names = {}, absent = [] } = mappings[name] ?? {};
    const other = Object.entries(names).filter(([united, own]) => united !== own);
    return [
      ...other.map(([united, own]) => `  ${name} calls ${united} ${own}`),
      ...absent.map((united) => `  ${name} has no ${united}`),
    ];
  });
  const similar = similarity === null ? '' : `, cosine ${similarity.least.toFixed(2)} at least`;
  return `${[
    `${id} (${status}): ${representative} in place of ${others(members, representative)}`,
    `  ${sentence(inOneLine(reason))} (${judge}, confidence ${confidence.toFixed(2)}${similar})`,
    `  It saves ${counted(tokensSaved, 'token')}.`,
    ...(guarded === undefined ? [] : [`  Look closely: ${inOneLine(guarded)}`]),
    ...outcomes.map(
      ({ pair, confused }) => `  ${pair.join(' and ')} were taken for each other ${confused} times.`,
    ),
    ...notes.map((note) => `  ${sentence(inOneLine(note))}`),
    ...(why === undefined ? [] : [`  ${why}`]),
    ...renamed,
  ].join('\n')}\n`;
}

/**
 * Returns what would be served, and each of the first members beside it: ` ` before what both have, `-` before what the member alone has, and
 * `+` before what is served alone.
 */
export function definitionsText(
  { representative, members, definition }: ListedMerge,
  definitions: Definitions,
): string {
  const united = linesOf(definition);
  const lines = [`  ${representative} is served as`, ...united.flatMap((line) => wrapped('    ', line))];
  for (const name of members.slice(0, MOST_NAMED)) {
    const own = definitions[name];
    if (own === undefined) {
      lines.push(`  ${name} is no tool of the catalog any more`);
      continue;
    }
    const member = linesOf(own);
    const isSame = member.length === united.length && member.every((line) => united.includes(line));
    lines.push(isSame ? `  ${name} was put just so` : `  ${name} was put as`);
    if (isSame) continue;
    for (const line of member) lines.push(...wrapped(united.includes(line) ? '      ' : '    - ', line));
    for (const line of united) if (!member.includes(line)) lines.push(...wrapped('    + ', line));
  }
  const rest = members.length - MOST_NAMED;
  if (rest > 0) lines.push(`  ${counted(rest, 'more tool')}: see \`bandolier merges show <id> --json\``);
  return `${lines.join('\n')}\n`;
}

/** What a definition says, a line for each sentence and each parameter. */
function linesOf({ description, inputSchema }: Definition): string[] {
  const sentences = inOneLine(description).split(/(?<=[.!?]) /);
  const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : []);
  const parameters = Object.entries(inputSchema.properties ?? {}).map(([name, schema]) => {
    const { description: told } = asObject(schema);
    const said = typeof told === 'string' ? ` – ${inOneLine(told)}` : '';
    return `${inOneLine(name)}: ${typeOf(schema)}${required.has(name) ? ', required' : ''}${said}`;
  });
  return [...sentences.map((text) => text.trim()).filter((text) => text !== ''), ...parameters];
}

function typeOf(schema: unknown): string {
  const { type, enum: listed, items, format } = asObject(schema);
  if (Array.isArray(listed)) return inOneLine(listed.map(String).join('|'));
  if (type === 'array') return `${typeOf(items)}[]`;
  const types = inOneLine(Array.isArray(type) ? type.join('|') : String(type ?? 'any'));
  return typeof format === 'string' ? `${types} (${inOneLine(format)})` : types;
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** A text in lines of at most `WIDTH` characters, as far as its words are shorter; those after the first are indented by two more. */
function wrapped(before: string, text: string): string[] {
  const lines: string[] = [];
  let line = before;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `${' '.repeat(before.length + 2)}${word}`;
    } else line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

/** What a model wrote may hold orders to terminals. */
export function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ');
}

export function others(members: readonly string[], representative: string): string {
  const names = members.filter((name) => name !== representative);
  const rest = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
