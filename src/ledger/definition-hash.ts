import { createHash } from 'node:crypto';
import type { InstructionDraft } from './instruction-definition.ts';
import type { ToolDefinition } from './tool-definition.ts';

/**
 * Content hash of a definition: SHA-256 over its canonical JSON (keys sorted), the first 128 bits in hex. Same hash, same tool:
 * nothing to do. So every member counts, also `icons`, `_meta` and members that are not known here, or a change of theirs would
 * never arrive; only `replaces` does not, which says where a tool comes from and not what it is.
 *
 * Vectors are made from `denseText` and cached by it: a change of anything else has a new hash and keeps the vector, and with it
 * everything that was learned.
 * @param ignoreDates days and times in descriptions do not count.
 */
export function definitionHash(tool: ToolDefinition, { ignoreDates = false } = {}): string {
  const { replaces: _, ...content } = tool;
  const counted = ignoreDates ? withoutDates(content) : content;
  return createHash('sha256').update(canonicalJson(counted)).digest('hex').slice(0, 32);
}

/** The same of an instruction: over everything but its status, so that an approval is no change of it. */
export function instructionHash({ status: _, ...content }: InstructionDraft): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
}

/** Returns JSON that is the same for values with the same content: keys are sorted, and absent members are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\\.?';
/** Days and times as servers write them into descriptions. None of them can repeat without end. */
const DATES = new RegExp(
  [
    '\\b\\d{4}-\\d{2}-\\d{2}(?:[T ]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?: ?(?:Z|UTC|GMT|[+-]\\d{2}:?\\d{2}))?)?',
    '\\b\\d{1,2}[./]\\d{1,2}[./]\\d{4}\\b',
    '\\b\\d{4}/\\d{1,2}/\\d{1,2}\\b',
    `\\b(?:\\d{1,2}(?:st|nd|rd|th|\\.)? )?${MONTH} (?:\\d{1,2}(?:st|nd|rd|th)?,? )?\\d{4}\\b`,
    '\\b\\d{1,2}:\\d{2}(?::\\d{2})?(?: ?[AaPp]\\.?[Mm]\\.?)?\\b',
    '\\b1[5-9]\\d{8}(?:\\d{3})?\\b', // seconds or milliseconds since 1970, from 2017 on
  ].join('|'),
  'g',
);

/** The same value with every day and time in a `description`, at any depth, replaced by one and the same mark. */
function withoutDates(value: unknown, isDescription = false): unknown {
  if (typeof value === 'string') return isDescription ? value.replace(DATES, '\u0000date') : value;
  if (Array.isArray(value)) return value.map((item) => withoutDates(item));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, withoutDates(field, key === 'description')]),
  );
}
