import { Problem, type Violation } from '../errors/problem.ts';

/** Everything that is wrong with the values of a request. */
export function invalid(
  violations: readonly Violation[],
  suggestedFix = 'Correct what `violations` lists and send the request again. /docs shows every field with its limits.',
): Problem {
  const first = violations[0];
  const others = violations.length > 1 ? ` (and ${violations.length - 1} more in \`violations\`)` : '';
  return new Problem('validation-failed', `${first.path}: ${first.message}${others}.`, suggestedFix, {
    violations,
  });
}

/** @param part the part that is too large; null: all of it. */
export function tooLarge(limit: number, part: string | null = null): Problem {
  return new Problem(
    'body-too-large',
    `${part ?? 'The body'} is larger than ${limit / 1024 / 1024} MB.`,
    'Split the request. Tools can be sent in several PATCH requests, rewards in batches of at most 1,000; `bandolier import-prompt` splits a system prompt.',
  );
}

/** @param part where it is not; null: in no list. */
export function notJson(part: string | null): Problem {
  const place = part === null ? '' : ` (in ${part})`;
  return new Problem(
    'malformed-request',
    `The body is not valid JSON${place}.`,
    'Send one JSON value in UTF-8. Numbers such as NaN and Infinity do not exist in JSON.',
  );
}

export function emptyBody(): Problem {
  return new Problem('malformed-request', 'The body is empty.', 'Send one JSON value in UTF-8.');
}

export function brokenOff(cause: unknown): Problem {
  return new Problem('malformed-request', 'The body broke off before its end.', 'Send it again.', { cause });
}

export function tooSlow(graceSeconds: number, bytesPerSecond: number): Problem {
  return new Problem(
    'request-timeout',
    `The body came too slowly: beyond ${graceSeconds} seconds it has to come with ${bytesPerSecond} bytes a second.`,
    'Send it again over a faster connection, or in smaller requests.',
  );
}

export function tooManyBodies(megabytes: number): Problem {
  return new Problem(
    'too-many-requests',
    `The request bodies that this process works on need ${Math.round(megabytes)} MB already.`,
    'Send it again after the time in Retry-After, or send smaller requests.',
    { retryAfterSeconds: 2 },
  );
}
