import { z } from '@hono/zod-openapi';
import { Problem, type ProblemCode } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';

/** The only place that knows which status a problem has. */
export function statusOf(code: ProblemCode): ProblemStatus {
  switch (code) {
    case 'malformed-request':
      return 400;
    case 'host-not-allowed':
    case 'origin-not-allowed':
      return 403;
    case 'catalog-not-found':
    case 'tool-not-found':
    case 'decision-not-found':
    case 'reward-not-found':
    case 'experiment-not-found':
    case 'version-not-found':
    case 'snapshot-not-found':
    case 'evaluation-not-found':
    case 'endpoint-not-found':
      return 404;
    case 'method-not-allowed':
      return 405;
    case 'request-timeout':
      return 408;
    case 'idempotency-conflict':
    case 'experiment-exists':
    case 'experiment-conflict':
    case 'experiment-overlap':
    case 'sample-ratio-mismatch':
    case 'no-winner':
    case 'evaluation-conflict':
    case 'decision-not-activated':
    case 'decision-expired':
    case 'reward-late':
      return 409;
    case 'revision-mismatch':
      return 412;
    case 'body-too-large':
    case 'too-many-tools':
      return 413;
    case 'unsupported-media-type':
      return 415;
    case 'expectation-failed':
      return 417;
    case 'wrong-shard':
      return 421;
    case 'validation-failed':
    case 'unknown-policy':
      return 422;
    case 'too-many-requests':
      return 429;
    case 'headers-too-large':
      return 431;
    case 'internal':
      return 500;
    case 'unavailable':
    case 'shutting-down':
      return 503;
  }
}

export type ProblemStatus =
  | 400
  | 403
  | 404
  | 405
  | 408
  | 409
  | 412
  | 413
  | 415
  | 417
  | 421
  | 422
  | 429
  | 431
  | 500
  | 503;

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
    status: statusOf(problem.code),
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
  const status = statusOf(problem.code);
  const retryAfter = problem.retryAfterSeconds ?? (status === 429 || status === 503 ? 1 : undefined);
  return {
    'content-type': PROBLEM_MEDIA_TYPE,
    'cache-control': 'no-store',
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
