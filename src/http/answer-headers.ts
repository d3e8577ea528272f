import { randomUUID } from 'node:crypto';
import type { Context, Handler } from 'hono';
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

/** The id of a request, the same one each time. */
export function requestIdOf(context: Context): string {
  const known = context.get('requestId') as string | undefined;
  if (known !== undefined) return known;
  const id = requestId(context.req.header('x-request-id'));
  context.set('requestId', id);
  return id;
}

const POSITION = 'x-bandolier-position';
const PAIR = /^([a-z0-9][a-z0-9-]{0,62})=(\d{1,15})$/;
const MOST_PAIRS = 16;

type Positions = Pick<CatalogPositions, 'of' | 'reached'>;

/**
 * What every answer has beside its own headers: the id of its request, and how far its catalog is known here.
 *
 * The latter is reads-your-writes over several processes: every answer says it (`X-Bandolier-Position: default=1042`),
 * and a request that brings that line waits until as much is known.
 */
export class AnswerHeaders {
  readonly #positions: Positions;
  readonly #admission: Pick<Admission, 'draining'>;

  constructor(positions: Positions, admission: Pick<Admission, 'draining'>) {
    this.#positions = positions;
    this.#admission = admission;
  }

  /**
   * Plain, and not `Headers`, which take as long to make and to write as all the rest of an answer.
   * @param answer its body, which may name a catalog
   */
  of(context: Context, answer?: unknown): Record<string, string> {
    const headers: Record<string, string> = {
      'x-request-id': requestIdOf(context),
      'x-content-type-options': 'nosniff',
    };
    const catalog = catalogOfPath(context.req.path) ?? catalogOfAnswer(answer);
    const position = catalog === null ? null : this.#positions.of(catalog);
    if (position !== null) headers[POSITION] = `${catalog}=${position}`;
    if (this.#isLast) headers.connection = 'close';
    return headers;
  }

  /** Marks an answer with headers of its own as the last one of its connection, if it is that. */
  markLast(answer: Response): Response {
    if (this.#isLast) answer.headers.set('connection', 'close');
    return answer;
  }

  /** While the process shuts down: otherwise the connection stays open for the client's next request, and the server with it. */
  get #isLast(): boolean {
    return this.#admission.draining;
  }

  /** The same handler, which begins when each catalog is known here as far as the request says. */
  whenKnown(handler: Handler): Handler {
    return (context, next) => {
      const wanted = context.req.header(POSITION);
      if (wanted === undefined) return handler(context, next);
      return this.#reached(wanted, context).then(() => handler(context, next));
    };
  }

  async #reached(wanted: string, { req }: Context): Promise<void> {
    await this.#positions.reached(pairsOf(wanted), req.raw.signal);
  }
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
