import { expect, it } from 'vitest';
import { z } from 'zod';
import { faultsOf, plainWords } from '../../config/plain-words.ts';

it.each<[z.ZodType, unknown, string]>([
  [z.string(), 1, 'has to be text'],
  [z.string(), undefined, 'is needed'],
  [z.int(), 'http', 'has to be a number'],
  [z.int(), 1.5, 'has to be a whole number'],
  [z.int().min(1), 0, 'must not be less than 1'],
  [z.number().gt(0), 0, 'must not be 0 or less'],
  [z.number().max(10), 11, 'must not be more than 10'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().max(2), 'abc', 'must not have more than 2 characters'],
  [z.array(z.int()).max(1), [1, 2], 'must not have more than 1 members'],
  [z.enum(['a', 'b']), 'c', 'has to be one of a, b'],
  [z.literal(true), 1, 'has to be true'],
  [z.strictObject({}), { a: 1 }, 'has members that are not known here: a'],
  [z.union([z.string(), z.number()]), true, 'has none of the shapes that are known here'],
  [z.url(), 'x', 'has to be an address such as http://host:1234'],
  [z.string().max(2, 'is too long'), 'abc', 'is too long'],
])('%#: %j', (schema, value, sentence) => {
  expect(schema.safeParse(value, { error: plainWords }).error?.issues[0].message).toBe(sentence);
});

it('faults are listed place by place, each member that is not known by itself', () => {
  const schema = z.strictObject({ name: z.string(), inner: z.strictObject({}) });
  const { error } = schema.safeParse({ name: 1, inner: { a: 1, b: 2 }, c: 3 }, { error: plainWords });
  expect(faultsOf(error?.issues ?? [])).toEqual([
    { path: ['name'], message: 'has to be text' },
    { path: ['inner', 'a'], message: 'is not known here' },
    { path: ['inner', 'b'], message: 'is not known here' },
    { path: ['c'], message: 'is not known here' },
  ]);
});
