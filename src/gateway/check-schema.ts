import { type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import type { SchemaProblem } from './call.ts';

/** How much one check may cost, some microseconds each; what would cost more is left to others to check. */
const MAX_STEPS = 20_000;
/** Of what is read or written as a whole, so many characters are one step. */
const STEP_CHARACTERS = 48;
const MAX_DEPTH = 64;
const MAX_PROBLEMS = 10;

/** Keywords whose members are names of their own, with a schema each. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords that hold data, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required', 'type']);
/** Not run: regular expressions of others, and what takes more time than the value is long. */
const LEFT_OUT = new Set(['pattern', 'patternProperties', 'format', 'uniqueItems', '__proto__']);
/** Keywords that are compared with the value, and told in the problem, as a whole. */
const COMPARED = ['enum', 'const', 'required', 'type', 'dependentRequired', 'dependencies'];
/** Keywords that read a whole string, or all names of an object. */
const LENGTHS = ['minLength', 'maxLength'];
const WIDTHS = [
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'minProperties', 'maxProperties'],
];
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
 * work is bounded by a number of steps, whatever the schema and the value. A check that would take more, or a schema
 * that is none, refuses nothing: whoever gets the value has the last word anyhow.
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

/** What is left of one check, and what the value holds that makes a visit of a schema dear. */
interface Work {
  left: number;
  /** Characters of the longest string, and of the names in the object that has most of them. */
  longest: number;
  widest: number;
}

function checkOf(given: Readonly<Record<string, unknown>>): (value: unknown) => SchemaProblem[] {
  const work: Work = { left: MAX_STEPS, longest: 0, widest: 0 };
  let validator: Validator;
  try {
    const schema = withoutPatterns(given, work, 0) as Schema;
    validator = new Validator(schema, draftOf(given.$schema), false);
  } catch {
    return () => [];
  }
  return (value) => {
    Object.assign(work, { left: MAX_STEPS, longest: 0, widest: 0 });
    try {
      measure(value, work);
      const { errors } = validator.validate(value);
      const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
      return (inner.length > 0 ? inner : errors)
        .slice(0, MAX_PROBLEMS)
        .map(({ instanceLocation, error }) => ({
          path: instanceLocation.slice(1, 300),
          message: error.slice(0, 300),
        }));
    } catch {
      return [];
    }
  };
}

/** Notes what a value holds. @throws RangeError when it has too many values */
function measure(given: unknown, work: Work): void {
  const values = [given];
  while (values.length > 0) {
    const value = values.pop();
    spend(work, 1 / 8);
    if (typeof value === 'string') work.longest = Math.max(work.longest, value.length);
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) {
      let width = 0;
      for (const name of Object.keys(value)) {
        width += name.length + 8;
        work.longest = Math.max(work.longest, name.length);
      }
      work.widest = Math.max(work.widest, width);
    }
    for (const member of Object.values(value)) values.push(member);
  }
}

function spend(work: Work, steps: number): void {
  work.left -= steps;
  if (work.left < 0) throw new RangeError('too many steps');
}

/** Returns what spends the steps of one visit: for what the schema itself holds, and for what it reads of the value. */
function visitOf(schema: Readonly<Record<string, unknown>>, work: Work): () => void {
  const textOf = (key: string) => (Object.hasOwn(schema, key) ? JSON.stringify(schema[key]) : '');
  const names = [...NAMED].map((key) => JSON.stringify(Object.keys(Object(schema[key]))).length);
  const own = [...names, ...COMPARED.map((key) => textOf(key).length)].reduce((sum, size) => sum + size);
  // Two objects are compared by all names of both.
  const objects = `${textOf('enum')}${textOf('const')}`.split('{').length - 1;
  const lengths = LENGTHS.some((key) => key in schema) ? 1 : 0;
  const widths = objects + (WIDTHS.some((key) => key in schema) ? 1 : 0);
  // Computed with integers of hundreds of digits.
  const base = 'multipleOf' in schema ? 4 : 1;
  return () => spend(work, base + (own + lengths * work.longest + widths * work.widest) / STEP_CHARACTERS);
}

/** A copy in which whatever looks at a schema spends steps. @throws RangeError when none are left. */
function withoutPatterns(value: unknown, work: Work, depth: number): unknown {
  spend(work, 1);
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutPatterns(item, work, depth + 1));
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
        named.map(([name, one]) => [name, withoutPatterns(one, work, depth + 1)]),
      );
    } else copy[key] = withoutPatterns(member, work, depth + 1);
  }
  Object.defineProperty(copy, 'pattern', { get: visitOf(schema, work) });
  return copy;
}

function draftOf(name: unknown): SchemaDraft {
  if (typeof name !== 'string') return '2020-12';
  if (name.includes('draft-04')) return '4';
  if (name.includes('draft-06') || name.includes('draft-07')) return '7';
  return name.includes('2019-09') ? '2019-09' : '2020-12';
}
