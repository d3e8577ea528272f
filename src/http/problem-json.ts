import { z } from '@hono/zod-openapi';
import { Problem, type ProblemCode } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';

/** The status of every problem. No other file knows one. */
export const PROBLEM_STATUS = {
  'malformed-request': 400,
  unauthorized: 401,
  'host-not-allowed': 403,
  'origin-not-allowed': 403,
  'catalog-not-found': 404,
  'tool-not-found': 404,
  'instruction-not-found': 404,
  'decision-not-found': 404,
  'task-not-found': 404,
  'reward-not-found': 404,
  'experiment-not-found': 404,
  'version-not-found': 404,
  'snapshot-not-found': 404,
  'evaluation-not-found': 404,
  'merge-not-found': 404,
  'source-not-found': 404,
  'endpoint-not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  'idempotency-conflict': 409,
  'experiment-exists': 409,
  'experiment-conflict': 409,
  'experiment-overlap': 409,
  'sample-ratio-mismatch': 409,
  'no-winner': 409,
  'evaluation-conflict': 409,
  'merge-conflict': 409,
  'training-conflict': 409,
  'task-ambiguous': 409,
  'decision-not-activated': 409,
  'decision-expired': 409,
  'too-many-discoveries': 409,
  'reward-late': 409,
  'revision-mismatch': 412,
  'body-too-large': 413,
  'too-many-tools': 413,
  'too-many-items': 413,
  'unsupported-media-type': 415,
  'expectation-failed': 417,
  'wrong-shard': 421,
  'validation-failed': 422,
  'unknown-policy': 422,
  'budget-too-small': 422,
  'too-many-requests': 429,
  'headers-too-large': 431,
  internal: 500,
  unavailable: 503,
  'shutting-down': 503,
} as const satisfies Record<ProblemCode, number>;

export type ProblemStatus = (typeof PROBLEM_STATUS)[ProblemCode];

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** A problem as RFC 9457 has it, with our members `code`, `requestId`, `suggestedFix` and `violations`. */
export interface ProblemJson {
  readonly type: string;
  readonly title: string;
  readonly status: ProblemStatus;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly suggestedFix: string;
  readonly requestId: string;
  readonly violations?: readonly { readonly path: string; readonly message: string }[];
}

export function problemJson(problem: Problem, requestId: string): ProblemJson {
  return {
    type: `urn:bandolier:problem:${problem.code}`,
    title: titleOf(problem.code),
    status: PROBLEM_STATUS[problem.code],
    detail: problem.message,
    code: problem.code,
    suggestedFix: problem.suggestedFix,
    requestId,
    ...(problem.violations.length > 0 && { violations: problem.violations }),
  };
}

/**
 * Returns the problem that an error is answered with. The message of a store that is away is passed on only if it comes with a
 * `suggestedFix`. Anything else that is no `Problem` is a fault of ours, and its message stays in the log.
 */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isStoreAway(error)) {
    const { message, suggestedFix, retryAfterSeconds } = error;
    const more = { retryAfterSeconds, cause: error };
    if (suggestedFix !== undefined) return new Problem('unavailable', message, suggestedFix, more);
    return new Problem(
      'unavailable',
      'The store of the router is full or away. Nothing was accepted.',
      'Send the request again after the time in Retry-After. `GET /readyz` says what is wrong.',
      more,
    );
  }
  return new Problem(
    'internal',
    'Something went wrong inside the router. The request may or may not have taken effect.',
    'Try again. If it happens again, report it with the requestId: the log has the details under that id.',
    { cause: error },
  );
}

/** Headers that a problem brings with it. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const status = PROBLEM_STATUS[problem.code];
  const retryAfter = problem.retryAfterSeconds ?? (status === 429 || status === 503 ? 1 : undefined);
  return {
    'content-type': PROBLEM_MEDIA_TYPE,
    'cache-control': 'no-store',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    // What is still to come of the request is not waited for.
    ...(status === 408 && { connection: 'close' }),
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter)) }),
  };
}

/** `decision-not-found` → `Decision not found`. */
function titleOf(code: ProblemCode): string {
  const words = code.replaceAll('-', ' ');
  return words[0].toUpperCase() + words.slice(1);
}

export const problemSchema = z
  .object({
    type: z.string().meta({ example: 'urn:bandolier:problem:decision-not-found' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What is wrong, in one sentence.' }),
    code: z.string().meta({ description: 'The name of the problem: what programs decide on.' }),
    suggestedFix: z.string().meta({ description: 'What to do about it.' }),
    requestId: z.string().meta({ description: 'Under which the log has the details.' }),
    violations: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Everything that is wrong with the input, each with its place.' }),
  })
  .openapi('Problem');
