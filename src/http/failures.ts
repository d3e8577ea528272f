import type { Context, Hono, NotFoundHandler } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { type AnswerHeaders, requestIdOf } from './answer-headers.ts';
import { asProblem, PROBLEM_STATUS, problemHeaders, problemJson } from './problem-json.ts';

export interface FailureLog {
  error(fields: object, message: string): void;
}

/** While a store is away, every request that needs it fails alike. */
const OUTAGE_LINE_MS = 60_000;

/** Everything that is thrown becomes problem+json here and only here. */
export function answerFailures(app: Hono, headers: AnswerHeaders, log: FailureLog): void {
  let lineAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  /** One line a minute while a store is away, with how many refused requests had none of their own. */
  const logOutage = (fields: object, message: string): void => {
    const now = performance.now();
    if (now - lineAt < OUTAGE_LINE_MS) {
      unlogged++;
      return;
    }
    log.error(unlogged === 0 ? fields : { ...fields, refusedSinceLastLine: unlogged }, message);
    lineAt = now;
    unlogged = 0;
  };
  app.onError((error, context) => {
    const problem = asProblem(error);
    if (PROBLEM_STATUS[problem.code] >= 500 && problem.cause !== undefined) {
      const { method, path } = context.req;
      const fields = { requestId: requestIdOf(context), method, path, err: problem.cause };
      if (isStoreAway(problem.cause)) logOutage(fields, problem.message);
      else log.error(fields, problem.message);
    }
    return answer(context, problem, headers.of(context));
  });
}

/** To be called after all endpoints were mounted: known paths answer 405 to the methods that none of them took, others 404. */
export function refuseTheRest(app: Hono, headers: AnswerHeaders): void {
  const methods = methodsByPath(app);
  const refuse = (context: Context): Response => {
    const { method, path } = context.req;
    const [[[taken] = []]] = methods.match(method, path);
    if (taken === undefined) return answer(context, unknownPath(path), headers.of(context));
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].join(', ');
    return answer(context, unknownMethod(method, taken), { ...headers.of(context), allow });
  };
  app.notFound(headers.whenKnown(refuse) as NotFoundHandler);
}

function methodsByPath(app: Hono): TrieRouter<string[]> {
  const methods = new Map<string, string[]>();
  for (const { method, path } of app.routes) methods.set(path, [...(methods.get(path) ?? []), method]);
  const router = new TrieRouter<string[]>();
  for (const [path, taken] of methods) router.add('ALL', path, taken);
  return router;
}

function unknownPath(path: string): Problem {
  return new Problem(
    'endpoint-not-found',
    `There is no endpoint ${path.slice(0, 200)}.`,
    'See /docs for all of them. Slashes inside a tool name have to be written as %2F.',
  );
}

function unknownMethod(method: string, taken: readonly string[]): Problem {
  return new Problem(
    'method-not-allowed',
    `${method} is not possible here.`,
    `Use ${taken.join(' or ')}. /docs says what each of them does.`,
  );
}

function answer(context: Context, problem: Problem, headers: Record<string, string>): Response {
  const body = JSON.stringify(problemJson(problem, requestIdOf(context)));
  const status = PROBLEM_STATUS[problem.code];
  return new Response(body, { status, headers: { ...headers, ...problemHeaders(problem) } });
}
