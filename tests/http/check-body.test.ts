import { z } from '@hono/zod-openapi';
import { describe, expect, it } from 'vitest';
import type { Violation } from '../../src/errors/problem.ts';
import { bodyCheck, MAX_VIOLATIONS } from '../../src/http/check-body.ts';
import { atOnce } from '../../src/scheduling/slices.ts';

function checked(schema: z.ZodType, value: unknown) {
  const violations: Violation[] = [];
  const output = atOnce(bodyCheck(schema)(value, violations));
  return { output, violations, paths: violations.map(({ path }) => path) };
}

const item = z.strictObject({ name: z.string().min(1), times: z.int().default(1) });
const schema = z
  .strictObject({
    items: z
      .array(item)
      .max(5)
      .superRefine((items, context) => {
        if (new Set(items.map(({ name }) => name)).size < items.length)
          context.addIssue({ code: 'custom', path: [0, 'name'], message: 'is repeated' });
      }),
    names: z.array(z.string()).optional(),
    size: z.number().optional(),
  })
  .superRefine(({ items, names = [] }, context) => {
    if (names.some((name) => items.some((one) => one.name === name)))
      context.addIssue({ code: 'custom', path: ['names'], message: 'is an item' });
  });

describe('a body whose lists are checked element by element', () => {
  it.each([
    [{ items: [{ name: 'a' }, { name: 'b', times: 2 }], names: ['c'] }],
    [{ items: [] }],
    [{}],
    [[]],
    [null],
    [{ items: 'no list', names: [7], other: 1 }],
    [{ items: [{ name: '' }, null, { name: 'a', x: 1 }], size: 'large', other: 1 }],
    [{ items: [{ name: 'a' }, { name: 'a' }] }],
    [{ items: [{ name: 'a' }], names: ['a'] }],
    [{ items: Array(6).fill({ name: 'a' }) }],
  ])('%j is as the whole schema finds it', (value) => {
    const { output, paths } = checked(schema, value);
    const whole = schema.safeParse(value);
    expect(paths.length > 0).toBe(!whole.success);
    if (whole.success) expect(output).toEqual(whole.data);
    const expected = whole.error?.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [...issue.path, key].join())
        : [issue.path.join() || '(root)'],
    );
    const found = paths.map((path) => path.replace(/\[(\d+)\]/g, ',$1').replaceAll('.', ','));
    expect(found.sort()).toEqual((expected ?? []).sort());
  });

  it('is not looked at any further when there are enough violations', () => {
    let looked = 0;
    const counting = z.object({ items: z.array(z.number().refine(() => ++looked < 0)) });
    expect(checked(counting, { items: Array(10_000).fill(1) }).violations).toHaveLength(MAX_VIOLATIONS);
    expect(looked).toBe(MAX_VIOLATIONS);
  });

  it('has at most a hundred violations, however many there are in one place', () => {
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
    expect(checked(schema, { items: [], ...unknown }).violations).toHaveLength(MAX_VIOLATIONS);
    expect(checked(schema, { items: [{ name: 'a', ...unknown }] }).violations).toHaveLength(MAX_VIOLATIONS);
    const together = checked(schema, { items: [{ name: '' }], names: Array(99).fill(1), ...unknown });
    expect(together.violations).toHaveLength(MAX_VIOLATIONS);
  });
});
