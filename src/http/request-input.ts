import type { Context } from 'hono';
import type { Violation } from '../errors/problem.ts';
import { atOnce, inSlices } from '../scheduling/slices.ts';
import { invalid } from './body-problems.ts';
import { type BodyCheck, bodyCheck, type Check, checkBy } from './check-body.ts';
import type { EndpointDefinition, RequestInput, RequestParts } from './endpoint-definition.ts';

/** A body as it was parsed. */
export interface GivenBody {
  readonly value: unknown;
  /** Where there are none, it takes so little time that it is checked at a stretch. */
  readonly hasLists: boolean;
}

/** Checks the parts of requests that one endpoint looks at. */
export class RequestInputs<Parts extends RequestParts> {
  readonly #params: Check | undefined;
  readonly #query: Check | undefined;
  readonly #headers: Check | undefined;
  readonly #headerNames: readonly string[];
  readonly #body: BodyCheck | undefined;
  readonly #fixFor: EndpointDefinition<Parts>['fixFor'];

  constructor({ request, fixFor }: EndpointDefinition<Parts>) {
    const { params, query, headers, body } = request;
    this.#params = params && checkBy(params);
    this.#query = query && checkBy(query);
    this.#headers = headers && checkBy(headers);
    this.#headerNames = Object.keys(headers?.shape ?? {});
    this.#body = body && bodyCheck(body);
    this.#fixFor = fixFor;
  }

  /** @param body absent where the endpoint takes none @throws Problem validation-failed, with all that is wrong */
  async read({ req }: Context, body?: GivenBody): Promise<RequestInput<Parts>> {
    const violations: Violation[] = [];
    const input = {
      params: this.#params?.(req.param(), violations),
      query: this.#query?.(singleValues(req.queries()), violations),
      headers: this.#headers?.(pick(this.#headerNames, req), violations),
      body: body && (await this.#checked(body, violations)),
    };
    if (violations.length === 0) return input as RequestInput<Parts>;
    throw invalid(violations, (body && this.#fixFor?.(body.value)) ?? undefined);
  }

  #checked({ value, hasLists }: GivenBody, violations: Violation[]): unknown {
    const steps = this.#body?.(value, violations);
    if (steps === undefined) return undefined;
    return hasLists ? inSlices(steps) : atOnce(steps);
  }
}

/** A parameter given twice stays a list, which no schema accepts. */
function singleValues(queries: Record<string, string[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function pick(names: readonly string[], req: Context['req']): Record<string, string | undefined> {
  const picked: Record<string, string | undefined> = {};
  for (const name of names) picked[name] = req.header(name);
  return picked;
}
