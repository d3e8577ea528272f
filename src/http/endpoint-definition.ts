import type { RouteConfig, z } from '@hono/zod-openapi';
import type { Context, Handler } from 'hono';
import type { ProblemCode } from '../errors/problem.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import type { BodyIntake } from './body-intake.ts';
import type { FailureLog } from './failures.ts';
import type { BodyLimits } from './json-scanner.ts';
import type { StreamFormat } from './stream.ts';

/** One endpoint: what it takes, what it answers, what it does. Every file in endpoints/ makes one. */
export interface EndpointDefinition<Parts extends RequestParts> {
  readonly method: 'get' | 'put' | 'post' | 'patch' | 'delete';
  /** `/v1/catalogs/{catalog}`. */
  readonly path: string;
  /** Name of the operation in generated clients. */
  readonly name: string;
  readonly tag:
    | 'Routing'
    | 'Rewards'
    | 'Catalogs'
    | 'Tools'
    | 'Instructions'
    | 'Context'
    | 'Sources'
    | 'Merges'
    | 'Experiments'
    | 'Policies'
    | 'Evaluations'
    | 'Health';
  readonly summary: string;
  readonly description?: string;
  readonly request: Parts;
  /** A body that passes: what `/docs` sends at a click. Every endpoint with a body has one. */
  readonly example?: Parts['body'] extends z.ZodType ? z.input<Parts['body']> : never;
  /** An empty body stands for `{}`. */
  readonly bodyOptional?: boolean;
  /** What to do about a refused body that was clearly meant for something else; null: it was not. */
  readonly fixFor?: (body: unknown) => string | null;
  /** Of the body; `ORDINARY_BODY` unless said. */
  readonly limits?: BodyLimits;
  readonly answers: Readonly<Partial<Record<Answer['status'], AnswerNotes>>>;
  /** Problems of its own, beside those that every endpoint can have. */
  readonly problems?: readonly ProblemCode[];
  readonly handle: (input: RequestInput<Parts>, context: RequestContext) => Promise<Answer>;
}

/** What an endpoint knows of a request beside what it asks for. Who asks, and what they may, belongs here as well. */
export interface RequestContext {
  readonly requestId: string;
  /** Aborts with a `Problem` when the client hangs up: for work that takes long, and does no harm half done. */
  readonly signal: AbortSignal;
}

/** The parts of a request that an endpoint looks at, each with its schema. Header names are in lower case. */
export interface RequestParts {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
}

/** The same parts, parsed. */
export type RequestInput<Parts extends RequestParts> = {
  readonly [Part in keyof Parts]: Parts[Part] extends z.ZodType ? z.output<Parts[Part]> : never;
};

export interface AnswerNotes {
  readonly description: string;
  /** Of the body; of one item if it is a stream. */
  readonly schema?: z.ZodType;
  /** The answer is a stream in this format. */
  readonly stream?: StreamFormat;
}

export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 503;
  /** Serialised once and not validated: its shape is the business of the noun that made it. */
  readonly body?: unknown;
  /** In place of a body, where `answers` names a format for this status. Nothing of it runs before the client reads. */
  readonly stream?: AsyncIterable<unknown>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An endpoint ready to be mounted. */
export interface Endpoint {
  /** For openapi.json. */
  readonly documentation: RouteConfig;
  readonly method: string;
  /** `/v1/catalogs/:catalog`. */
  readonly path: string;
  readonly respond: (context: Context, parts: EndpointParts) => Promise<Response>;
}

/** Adds a handler to the app. Every method of a path has one of its own, and there is no other middleware. */
export type Mount = (methods: string[], path: string, handler: Handler) => void;

/** What the endpoints of one process share. */
export interface EndpointParts {
  readonly bodies: BodyIntake;
  readonly headers: AnswerHeaders;
  readonly log: FailureLog;
}
