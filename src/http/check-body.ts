import { z } from '@hono/zod-openapi';
import { faultsOf, plainWords } from '../../config/plain-words.ts';
import type { Violation } from '../errors/problem.ts';
import type { Steps } from '../scheduling/slices.ts';
import { jsonPath } from './json-body.ts';

/** At most so many violations are listed; checking stops there. */
export const MAX_VIOLATIONS = 100;

/** Checks a value, and collects what is wrong with it. Answers what the schema made of the value. */
export type Check = (value: unknown, violations: Violation[]) => unknown;

/** The same in steps. */
export type BodyCheck = (value: unknown, violations: Violation[]) => Steps<unknown>;

/** The schema is compiled when the first value comes: there are many, and most are never needed. */
export function checkBy(schema: z.ZodType): Check {
  let compiled: z.ZodType | null = null;
  return (value, violations) => {
    compiled ??= z.compile(schema);
    return check(compiled, value, violations);
  };
}

function check(
  schema: z.ZodType,
  value: unknown,
  violations: Violation[],
  within: readonly PropertyKey[] = [],
): unknown {
  const result = schema.safeParse(value, { error: plainWords });
  if (result.success) return result.data;
  for (const { path, message } of faultsOf(result.error.issues)) {
    if (violations.length >= MAX_VIOLATIONS) break;
    violations.push({ path: jsonPath([...within, ...path]) || '(root)', message });
  }
  return undefined;
}

/** Stands for an element that was refused, so that checks of the whole list neither see it nor report it again. */
const REFUSED = Symbol('refused');
const CHECKED = z
  .unknown()
  .refine((element) => element !== REFUSED, { abort: true, message: REFUSED.description });

/**
 * A check that looks at the elements of lists one after the other, with a pause after each, and then at the rest:
 * no request holds the event loop, however many it has. It stops with the last violation that is listed.
 */
export function bodyCheck(schema: z.ZodType): BodyCheck {
  const lists = schema instanceof z.ZodObject ? listsOf(schema) : [];
  const checkRest = checkBy(lists.length === 0 ? schema : withCheckedElements(schema as z.ZodObject, lists));
  return function* (value, violations) {
    if (!isObject(value) || !lists.some(({ key }) => Array.isArray(value[key]))) {
      return checkRest(value, violations);
    }
    const outline = { ...value };
    for (const { key, element } of lists) {
      const items = outline[key];
      if (!Array.isArray(items)) continue;
      const checked: unknown[] = [];
      outline[key] = checked;
      for (let i = 0; i < items.length; i++) {
        const before = violations.length;
        const item = check(element, items[i], violations, [key, i]);
        if (violations.length >= MAX_VIOLATIONS) return undefined;
        checked.push(violations.length === before ? item : REFUSED);
        yield;
      }
    }
    const others: Violation[] = [];
    const checked = checkRest(outline, others);
    violations.push(...others.filter(({ message }) => message !== REFUSED.description));
    return checked;
  };
}

interface ListSchema {
  readonly key: string;
  readonly array: z.ZodArray;
  readonly element: z.ZodType;
  readonly isOptional: boolean;
}

function listsOf({ shape }: z.ZodObject): ListSchema[] {
  return Object.entries(shape).flatMap(([key, member]) => {
    const isOptional = member instanceof z.ZodOptional;
    const array = isOptional ? member.unwrap() : member;
    return array instanceof z.ZodArray
      ? [{ key, array, element: array.element as z.ZodType, isOptional }]
      : [];
  });
}

/** The same schema, for lists whose elements were checked: their number, and what they have to do with each other. */
function withCheckedElements(schema: z.ZodObject, lists: readonly ListSchema[]): z.ZodObject {
  const members = lists.map(({ key, array, isOptional }) => {
    const checked = z.core.clone(array, { ...array._zod.def, element: CHECKED });
    return [key, isOptional ? checked.optional() : checked];
  });
  return schema.safeExtend(Object.fromEntries(members));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
