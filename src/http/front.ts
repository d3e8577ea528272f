import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../errors/problem.ts';
import type { Admission, RequestClass, Ticket } from './admission.ts';
import { isHere } from './body-intake.ts';
import { refuse } from './refusals.ts';
import type { RequestGuard } from './request-guard.ts';

/** Answers a request; settles when nothing is left to do for it. Probes have no ticket. */
export type Handle = (request: IncomingMessage, response: ServerResponse, ticket?: Ticket) => Promise<void>;

/**
 * Refusals are paced, so that clients which ask again at once cannot make the process refuse all day: so many are given
 * every few milliseconds, and the others wait. Where still more come, they are given at once.
 */
const REFUSE_EVERY_MS = 4;
const MAX_REFUSED_AT_ONCE = 20;
const MAX_UNREFUSED = 100;

/** Probes of the machinery around us, which have to be answered when nothing else is. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);

// Made once: to make a problem takes longer than to send one.
const NO_PATH = new Problem(
  'malformed-request',
  'The request target is no path.',
  'Begin it with a slash, as in `GET /livez`.',
);
const TOO_MANY = new Problem(
  'too-many-requests',
  'More requests of this kind come than can be answered in time.',
  'Send it again after the time in Retry-After, and fewer at once. How long requests may wait for their turn is the ' +
    'setting `maxWaitMs`.',
);
const SHUTTING_DOWN = new Problem(
  'shutting-down',
  'This process is shutting down.',
  'Send the request again: to another process, or to this one after its restart.',
);

/**
 * The first to see a request, when its head is there and nothing was read of its body: refuses it, or lets it wait for
 * its turn and hands it on.
 */
export function front(guard: RequestGuard, admission: Admission, handle: Handle): Handle {
  const measureTurn = loopTurns((ms) => admission.turnTook(ms));
  const refuseLater = paced();
  return async (request, response) => {
    const path = pathOf(request.url ?? '');
    const kind = kindOf(request.method, path ?? '');
    const fault = guard.fault(request, kind === 'probe') ?? (path === null ? NO_PATH : null);
    if (fault !== null) return refuse(request, response, fault);
    request.url = path as string;
    if (kind === 'probe') return handle(request, response);
    if (admission.draining) {
      response.shouldKeepAlive = false;
      return refuse(request, response, SHUTTING_DOWN);
    }
    measureTurn();
    const ticket = admission.enter(kind);
    if (ticket === null) return refuseLater(() => refuse(request, response, TOO_MANY));
    if (ticket.isWaiting) response.once('close', () => ticket.giveUp());
    if (!(await ticket.turn)) return;
    if (!isHere(request)) {
      ticket.pause();
      request.once('end', () => ticket.resume());
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    try {
      await handle(request, response, ticket);
    } finally {
      ticket.leave();
    }
  };
}

/** Gives refusals a few at a time. */
function paced(): (refusal: () => void) => void {
  const waiting: (() => void)[] = [];
  const giveSome = (): void => {
    for (const give of waiting.splice(0, MAX_REFUSED_AT_ONCE)) give();
    if (waiting.length > 0) setTimeout(giveSome, REFUSE_EVERY_MS);
  };
  return (refusal) => {
    if (waiting.length >= MAX_UNREFUSED) return refusal();
    if (waiting.push(refusal) === 1) setTimeout(giveSome, REFUSE_EVERY_MS);
  };
}

function kindOf(method: string | undefined, path: string): RequestClass | 'probe' {
  const query = path.indexOf('?');
  const name = query === -1 ? path : path.slice(0, query);
  if (PROBES.has(name)) return 'probe';
  if (method === 'GET' || method === 'HEAD') return 'read';
  if (name === '/v1/route' || /^\/mcp(\/|$)/.test(name)) return 'route';
  return name === '/v1/rewards' || /^\/v1\/decisions\/[^/]+\/rewards$/.test(name) ? 'reward' : 'change';
}

/** Of both forms that a target may have: `/livez` and `http://localhost:8787/livez`. */
function pathOf(target: string): string | null {
  if (target.startsWith('/')) return target;
  const [, path] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  return path === undefined ? null : path.startsWith('/') ? path : `/${path}`;
}

/**
 * Measures a turn of the event loop for each time it is asked to, one at a time: from the end of one turn to the end of
 * the next, which does not wait for anything in between. So it is the time for which there was something to do.
 */
export function loopTurns(onTurn: (ms: number) => void): () => void {
  let isMeasuring = false;
  return () => {
    if (isMeasuring) return;
    isMeasuring = true;
    setImmediate(() => {
      const start = performance.now();
      setImmediate(() => {
        isMeasuring = false;
        onTurn(performance.now() - start);
      });
    });
  };
}
