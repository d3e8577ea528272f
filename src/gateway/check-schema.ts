import { type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import type { SchemaProblem } from './call.ts';

/** How many parts of a schema are looked at for one value; what is larger is left to others to check. */
const MAX_STEPS = 100_000;
const MAX_DEPTH = 64;
const MAX_PROBLEMS = 10;

/** Keywords whose members are names of their own, with a schema each. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords that hold data, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required', 'type']);
/** Not run: regular expressions of others, and what takes more time than the value is long. */
const LEFT_OUT = new Set(['pattern', 'patternProperties', 'format', 'uniqueItems', '__proto__']);
/** Keywords whose problems are told by what is inside them. */
const OUTER = new Set([
  '$ref',
  'properties',
  'items',
  'prefixItems',
  'allOf',
  'additionalProperties',
  'dependentSchemas',
  'if',
]);

/**
 * Checks arguments and results against the schemas of a tool. A schema is interpreted, never compiled; its `pattern`s are not run;
 * work is bounded by a number of steps. A schema that is too large, or is none, refuses nothing: whoever
 * gets the value has the last word anyhow.
 */
export class SchemaChecks {
  readonly #checks = new WeakMap<object, (value: unknown) => SchemaProblem[]>();

  /** Returns at most ten problems; none: the value fits, as far as was looked. */
  check(schema: unknown, value: unknown): readonly SchemaProblem[] {
    if (typeof schema !== 'object' || schema === null) return [];
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = checkOf(schema as Readonly<Record<string, unknown>>);
      this.#checks.set(schema, check);
    }
    return check(value);
  }
}

function checkOf(given: Readonly<Record<string, unknown>>): (value: unknown) => SchemaProblem[] {
  const steps = { left: MAX_STEPS };
  let validator: Validator;
  try {
    const schema = withoutPatterns(given, steps, 0) as Schema;
    validator = new Validator(schema, draftOf(given.$schema), false);
  } catch {
    return () => [];
  }
  return (value) => {
    steps.left = MAX_STEPS;
    try {
      const { errors } = validator.validate(value);
      const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
      return (inner.length > 0 ? inner : errors)
        .slice(0, MAX_PROBLEMS)
        .map(({ instanceLocation, error }) => ({
          path: instanceLocation.replace(/^#/, ''),
          message: error.slice(0, 300),
        }));
    } catch {
      return [];
    }
  };
}

/** A copy in which whatever looks at a schema spends a step. @throws RangeError when none is left. */
function withoutPatterns(value: unknown, steps: { left: number }, depth: number): unknown {
  const spend = () => {
    if (--steps.left < 0) throw new RangeError('too many steps');
  };
  spend();
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutPatterns(item, steps, depth + 1));
  const schema = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(schema)) {
    // Without the patterns nobody can say which properties are additional.
    const isRest = key === 'additionalProperties' || key === 'unevaluatedProperties';
    if (LEFT_OUT.has(key) || (isRest && 'patternProperties' in schema)) continue;
    if (DATA.has(key)) copy[key] = member;
    else if (NAMED.has(key) && typeof member === 'object' && member !== null) {
      const named = Object.entries(member).filter(([name]) => name !== '__proto__');
      copy[key] = Object.fromEntries(
        named.map(([name, one]) => [name, withoutPatterns(one, steps, depth + 1)]),
      );
    } else copy[key] = withoutPatterns(member, steps, depth + 1);
  }
  Object.defineProperty(copy, 'pattern', { get: spend });
  return copy;
}

function draftOf(name: unknown): SchemaDraft {
  if (typeof name !== 'string') return '2020-12';
  if (name.includes('draft-04')) return '4';
  if (name.includes('draft-06') || name.includes('draft-07')) return '7';
  return name.includes('2019-09') ? '2019-09' : '2020-12';
}
