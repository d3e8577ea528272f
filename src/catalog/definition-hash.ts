import { createHash } from 'node:crypto';
import type { ToolDefinition } from '../ledger/tool-definition.ts';

/**
 * Content hash of a definition: SHA-256 over its canonical JSON (keys sorted, `replaces` left out, since it says
 * where a tool comes from and not what it is), the first 128 bits in hex. Same hash, same tool: nothing to do.
 */
export function definitionHash(tool: ToolDefinition): string {
  const { replaces: _, ...content } = tool;
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
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
