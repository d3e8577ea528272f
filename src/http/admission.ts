import type { Hono } from 'hono';
import { Problem } from '../problem.ts';
import { requestId } from './request-id.ts';

declare module 'hono' {
  interface ContextVariableMap {
    requestId: string;
    visit: Visit;
  }
}

/** Which requests are let in: as many at a time as is good for those already there, none when shutting down. */
export class Admission {
  readonly #maxConcurrent: number;
  #inProgress = 0;
  #draining = false;

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on every request is answered 503. */
  drain(): void {
    this.#draining = true;
  }

  /** @throws Problem too-many-requests or shutting-down; otherwise `leave` has to follow. */
  enter(): void {
    if (this.#draining) {
      throw new Problem(
        'shutting-down',
        'This process is shutting down.',
        'Send the request again: to another process, or to this one after its restart.',
      );
    }
    if (this.#inProgress >= this.#maxConcurrent) {
      throw new Problem(
        'too-many-requests',
        `${this.#maxConcurrent} requests are in progress already.`,
        'Slow down and send it again. The limit is the setting `maxConcurrentRequests`.',
      );
    }
    this.#inProgress++;
  }

  leave(): void {
    this.#inProgress--;
  }
}

/** One request: it counts while it is worked on, but not while its body is still on the way. */
export class Visit {
  readonly #admission: Admission;
  #isInside = false;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** @throws Problem as `Admission` does; it is outside then. */
  enter(): void {
    this.#admission.enter();
    this.#isInside = true;
  }

  /** Does nothing when it is outside already. */
  leave(): void {
    if (this.#isInside) this.#admission.leave();
    this.#isInside = false;
  }
}

/** Probes of the machinery around us, which have to be answered when nothing else is. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);

/** Gives every request its id and counts it in and out. */
export function admitRequests(app: Hono, admission: Admission): void {
  app.use(async (context, next) => {
    const id = requestId(context.req.header('x-request-id'));
    context.set('requestId', id);
    context.header('x-request-id', id);
    context.header('x-content-type-options', 'nosniff');
    if (PROBES.has(context.req.path)) return next();
    const visit = new Visit(admission);
    context.set('visit', visit);
    visit.enter();
    try {
      await next();
    } finally {
      visit.leave();
      // Otherwise the connection stays open for the client's next request, and the server with it.
      if (admission.draining) context.header('connection', 'close');
    }
  });
}
