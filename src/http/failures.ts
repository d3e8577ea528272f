import type { Context, Hono } from 'hono';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { requestId } from './answer-headers.ts';
import { asProblem, PROBLEM_STATUS, problemHeaders, problemJson } from './problem-json.ts';

export interface FailureLog {
  error(fields: object, message: string): void;
}

/** While a store is away, every request that needs it fails alike. */
const OUTAGE_LINE_MS = 60_000;

/** Everything that is thrown, and every unknown path, becomes problem+json here and only here. */
export function answerFailures(app: Hono, log: FailureLog): void {
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
      const fields = { requestId: context.var.requestId, method, path, err: problem.cause };
      if (isStoreAway(problem.cause)) logOutage(fields, problem.message);
      else log.error(fields, problem.message);
    }
    return answer(context, problem);
  });
  app.notFound((context) => {
    const problem = new Problem(
      'endpoint-not-found',
      `There is no endpoint ${context.req.path.slice(0, 200)}.`,
      'See /docs for all of them. Slashes inside a tool name have to be written as %2F.',
    );
    return answer(context, problem);
  });
}

/** To be called after all endpoints were mounted: known paths answer 405 to the methods that none of them took. */
export function refuseOtherMethods(app: Hono): void {
  const methods = new Map<string, string[]>();
  for (const { method, path } of app.routes) {
    if (method !== 'ALL') methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  for (const [path, taken] of methods) {
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].join(', ');
    app.all(path, (context) => {
      const problem = new Problem(
        'method-not-allowed',
        `${context.req.method} is not possible here.`,
        `Use ${taken.join(' or ')}. /docs says what each of them does.`,
      );
      context.header('allow', allow);
      return answer(context, problem);
    });
  }
}

function answer(context: Context, problem: Problem): Response {
  const id = context.var.requestId ?? requestId(undefined);
  const body = JSON.stringify(problemJson(problem, id));
  return context.body(body, PROBLEM_STATUS[problem.code], problemHeaders(problem));
}
