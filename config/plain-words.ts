import type { z } from 'zod';

type Issue = Parameters<z.core.$ZodErrorMap>[0];

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** Says what is wrong with a value, without the words of the library that found it. Undefined: the schema says it itself. */
export function plainWords(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is needed';
      return `has to be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small':
    case 'too_big':
      return `must not ${sizeOf(issue)}`;
    case 'invalid_value':
      return `has to be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'has to be an address such as http://host:1234' : undefined;
    case 'invalid_union':
      return 'has none of the shapes that are known here';
    case 'unrecognized_keys':
      return `has members that are not known here: ${issue.keys.join(', ')}`;
    default:
      return undefined;
  }
}

/** Returns what is wrong, place by place: of members that are not known, each by itself. */
export function faultsOf(
  issues: readonly z.core.$ZodIssue[],
): { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: 'is not known here' }))
      : [{ path: issue.path, message: issue.message }],
  );
}

/** Completes “must not …”. */
function sizeOf(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  const isSmall = issue.code === 'too_small';
  const bound = Number(isSmall ? issue.minimum : issue.maximum);
  const { origin, inclusive = true } = issue;
  if (origin === 'string')
    return isSmall && bound <= 1 ? 'be empty' : `have ${isSmall ? 'fewer' : 'more'} than ${bound} characters`;
  if (origin === 'array' || origin === 'set')
    return isSmall && bound <= 1 ? 'be empty' : `have ${isSmall ? 'fewer' : 'more'} than ${bound} members`;
  return `be ${inclusive ? '' : `${bound} or `}${isSmall ? 'less' : 'more'}${inclusive ? ` than ${bound}` : ''}`;
}
