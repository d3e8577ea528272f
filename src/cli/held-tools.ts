import { isDeepStrictEqual } from 'node:util';
import { toolsThatGiveOrders } from '../catalog/suspicious-tools.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { atOnce } from '../scheduling/slices.ts';

/** Of a text that changed so many characters are shown, and so many that stayed the same around them. */
const MOST_SHOWN = 1_500;
const AROUND = 60;

/** Members that are compared on their own, or that the service adds. */
const APART = ['name', 'description', 'text', 'inputSchema', 'replaces'];
const ADDED = ['providerName', 'definitionHash', 'addedAt', 'source'];

/** Says to people what a definition that waits for approval changes, and what in it looks like orders to a model. @param served null: the tool is new */
export function heldLines(held: ToolDefinition, served: ToolDefinition | null): string[] {
  const [suspicion] = atOnce(toolsThatGiveOrders([held]));
  const lines = [
    ...(suspicion === undefined ? [] : [`CAREFUL: its text ${suspicion.why}`]),
    ...textLines('description', served?.description, held.description),
    ...textLines('text', served?.text, held.text),
    ...parameterLines(held.inputSchema, served?.inputSchema),
    ...otherLines(held, served),
  ];
  return [`  ${plain(held.name)}${served === null ? ' (new)' : ''}`, ...lines.map((line) => `    ${line}`)];
}

function textLines(member: string, before: string | undefined, after: string | undefined): string[] {
  if (before === after || (before === undefined && after === '')) return [];
  if (before === undefined) return [`${member}: ${excerpt(after ?? '', 0, 0)}`];
  const [old, now] = [before, after ?? ''];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  const rest = Math.min(old.length, now.length) - start;
  while (end < rest && old.at(-1 - end) === now.at(-1 - end)) end++;
  return [
    `${member}: ${excerpt(old, start, end)}`,
    `${'→'.padStart(member.length + 1)} ${excerpt(now, start, end)}`,
  ];
}

/** Returns a text on one line, without most of what is the same at both ends. */
function excerpt(text: string, start: number, end: number): string {
  const from = start > 2 * AROUND ? start - AROUND : 0;
  const to = end > 2 * AROUND ? text.length - end + AROUND : text.length;
  const shown = text.slice(from, Math.min(to, from + MOST_SHOWN));
  const cut = to - from - shown.length;
  const more = cut > 0 ? `… (${cut} more characters: --json has all of them)` : to < text.length ? '…' : '';
  return `${from > 0 ? '…' : ''}${plain(shown)}${more}`;
}

/** What would move the cursor or is not seen is shown as a sign of its own. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\p{Cc}\p{Cf}\u{e0000}-\u{e007f}]/gu, '\ufffd');
}

type Schema = Readonly<Record<string, unknown>>;

function parameterLines(after: Schema, before: Schema | undefined): string[] {
  const [old, now] = [parametersOf(before), parametersOf(after)];
  const added = [...now.keys()].filter((name) => !old.has(name));
  const removed = [...old.keys()].filter((name) => !now.has(name));
  const changed = [...now].filter(([name, one]) => old.has(name) && !isDeepStrictEqual(one, old.get(name)));
  const named = (sign: string, names: readonly string[]) => names.map((name) => `${sign} ${plain(name)}`);
  const all = [
    ...named('+', added),
    ...named('−', removed),
    ...named(
      'changed',
      changed.map(([name]) => name),
    ),
  ];
  if (all.length > 0) return [`parameters: ${all.join(', ')}`];
  return before === undefined || isDeepStrictEqual(before, after)
    ? []
    : ['parameters: the schema around them changed'];
}

function parametersOf({ properties, required }: Schema = {}): Map<string, unknown> {
  const needed = new Set(Array.isArray(required) ? required : []);
  return new Map(
    Object.entries((properties ?? {}) as Schema).map(([name, schema]) => [
      name,
      { schema, needed: needed.has(name) },
    ]),
  );
}

function otherLines(held: ToolDefinition, served: ToolDefinition | null): string[] {
  if (served === null) return [];
  const [old, now] = [served, held] as unknown as Schema[];
  const members = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (member) => ![...APART, ...ADDED].includes(member) && !isDeepStrictEqual(old[member], now[member]),
  );
  return members.length === 0 ? [] : [`also changed: ${members.map(plain).join(', ')}`];
}
