import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import type { CatalogPositions } from '../catalog/catalog-positions.ts';
import { catalogOf } from '../decisions/decision-id.ts';
import { Problem } from '../errors/problem.ts';
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

declare module 'hono' {
  interface ContextVariableMap {
    /** To be called with the body of an answer while its headers can still be written. */
    announce: (answer: unknown) => void;
  }
}

const HEADER = 'x-bandolier-position';
const PAIR = /^([a-z0-9][a-z0-9-]{0,62})=(\d{1,15})$/;
const MOST_PAIRS = 16;

/**
 * Reads-your-writes over several processes: every answer says how far its catalog is known here
 * (`X-Bandolier-Position: default=1042`), and a request that brings that line waits until as much is known.
 */
export function keepPositions(app: Hono, positions: CatalogPositions): void {
  app.use(async (context, next) => {
    const wanted = context.req.header(HEADER);
    if (wanted !== undefined) await positions.reached(pairsOf(wanted), context.req.raw.signal);
    let isAnnounced = false;
    const announce = (answer: unknown): void => {
      isAnnounced = true;
      const catalog = catalogOfPath(context.req.path) ?? catalogOfAnswer(answer);
      const position = catalog === null ? null : positions.of(catalog);
      if (position !== null) context.header(HEADER, `${catalog}=${position}`);
    };
    context.set('announce', announce);
    await next();
    // Problems. A header that is added to a finished answer is a copy of it, which takes as long as all the rest.
    if (!isAnnounced) announce(undefined);
  });
}

function pairsOf(header: string): [catalog: string, position: number][] {
  const pairs = header.split(',').map((pair) => PAIR.exec(pair.trim()));
  return pairs.slice(0, MOST_PAIRS).map((match) => {
    if (match !== null) return [match[1], Number(match[2])];
    throw new Problem(
      'malformed-request',
      'X-Bandolier-Position is not what an answer had in it.',
      'Send it as it came (`default=1042`), several of them with commas between, or leave it out.',
    );
  });
}

function catalogOfPath(path: string): string | null {
  const [, kind, name] = /^\/v1\/(catalogs|decisions|rewards)\/([^/]+)/.exec(path) ?? [];
  if (name === undefined) return null;
  return kind === 'catalogs' ? name : catalogOf(name);
}

function catalogOfAnswer(answer: unknown): string | null {
  const { catalog } = (answer ?? {}) as { readonly catalog?: unknown };
  return typeof catalog === 'string' ? catalog : null;
}
