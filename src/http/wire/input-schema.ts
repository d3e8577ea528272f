import { z } from '@hono/zod-openapi';
import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH } from '../../ledger/tool-definition.ts';
import { pointedAt } from '../../routing/brief-schema.ts';

/** A tool's JSON Schema. It is kept as it comes and never compiled, so only its size and its loops matter. */
export const inputSchema = z
  .record(z.string(), z.unknown())
  .superRefine((schema, context) => {
    const fault = faultOf(schema);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .meta({
    description: 'JSON Schema of the arguments.',
    example: { type: 'object', properties: { payment: { type: 'string' } }, required: ['payment'] },
  });

function faultOf(schema: Readonly<Record<string, unknown>>): string | null {
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH))
    return `must not be nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) {
    return `must not be longer than ${MAX_SCHEMA_LENGTH / 1024} KB as JSON`;
  }
  const loop = referenceLoop(schema);
  return loop === null ? null : `has a $ref that only leads back to itself: ${loop}`;
}

/** Returns whether objects and arrays are nested deeper than so many levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/**
 * A schema may describe trees by referring to itself. What it may not do is refer in a circle with nothing in
 * between (`a` is `b`, `b` is `a`): such a schema describes nothing, and resolving it never ends.
 *
 * @returns the first pointer of a loop, or null.
 */
function referenceLoop(root: Readonly<Record<string, unknown>>): string | null {
  const settled = new Set<unknown>();
  const visit = (value: unknown): string | null => {
    if (typeof value !== 'object' || value === null) return null;
    const trail = new Set<unknown>();
    let current: unknown = value;
    while (!settled.has(current)) {
      const pointer = pointerOf(current);
      if (pointer === null) break;
      if (trail.has(current)) return pointer.slice(0, 100);
      trail.add(current);
      current = pointedAt(root, pointer);
    }
    for (const passed of trail) settled.add(passed);
    for (const item of Object.values(value)) {
      const loop = visit(item);
      if (loop !== null) return loop;
    }
    return null;
  };
  return visit(root);
}

function pointerOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '$ref')) return null;
  const reference = (value as { $ref: unknown }).$ref;
  return typeof reference === 'string' && /^#(\/|$)/.test(reference) ? reference : null;
}
