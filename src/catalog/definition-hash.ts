import { createHash } from 'node:crypto';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { withoutDates } from './without-dates.ts';

/**
 * Content hash of a definition: SHA-256 over its canonical JSON (keys sorted, `replaces` left out, since it says
 * where a tool comes from and not what it is), the first 128 bits in hex. Same hash, same tool: nothing to do.
 * @param ignoreDates days and times in descriptions do not count.
 */
export function definitionHash(tool: ToolDefinition, { ignoreDates = false } = {}): string {
  const { replaces: _, ...content } = tool;
  const counted = ignoreDates ? withoutDates(content) : content;
  return createHash('sha256').update(canonicalJson(counted)).digest('hex').slice(0, 32);
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}
