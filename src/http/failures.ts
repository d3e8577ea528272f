import type { Context, Hono } from 'hono';
import { Problem } from '../problem.ts';
import { asProblem, problemHeaders, problemJson, statusOf } from './problem-json.ts';
import { requestId } from './request-id.ts';

export interface FailureLog {
  error(fields: object, message: string): void;
}

/** Everything that is thrown, and every path that nobody knows, becomes problem+json here and only here. */
export function answerFailures(app: Hono, log: FailureLog): void {
  app.onError((error, context) => {
    const problem = asProblem(error);
    if (statusOf(problem.code) >= 500 && problem.cause !== undefined) {
      const { method, path } = context.req;
      const fields = { requestId: context.var.requestId, method, path, err: problem.cause };
      log.error(fields, problem.message);
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
  return context.body(body, statusOf(problem.code), problemHeaders(problem));
}
