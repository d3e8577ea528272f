import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import type { Admission } from './admission.ts';

declare module 'hono' {
  interface ContextVariableMap {
    requestId: string;
  }
}

/** The caller's id if it is fit for logs and headers, else a new one. */
export function requestId(given: string | undefined): string {
  return given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** What every answer has. */
export function markAnswers(app: Hono, admission: Pick<Admission, 'draining'>): void {
  app.use(async (context, next) => {
    const id = requestId(context.req.header('x-request-id'));
    context.set('requestId', id);
    context.header('x-request-id', id);
    context.header('x-content-type-options', 'nosniff');
    try {
      await next();
    } finally {
      // Otherwise the connection stays open for the client's next request, and the server with it.
      if (admission.draining) context.header('connection', 'close');
    }
  });
}
