import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { Decision } from '../decisions/decision.ts';
import { decisionIdFor } from '../decisions/decision-id.ts';
import { assign } from '../experiments/assign.ts';
import { Problem } from '../problem.ts';
import { StoreUnavailableError } from '../store-errors.ts';
import { answerOf } from './answer.ts';
import { decide } from './decide.ts';
import { expose } from './expose.ts';
import { readQuery } from './read-query.ts';
import type { RouteAnswer, RouteRequest } from './route-request.ts';
import type { RoutingParts } from './routing-parts.ts';
import { comparable, understandQuery } from './understand-query.ts';

/**
 * The way of one query: embed → decide (shortlist → rank → select and draw) → log → answer. Nothing in here
 * learns.
 */
export async function routeQuery(
  request: RouteRequest,
  catalog: Catalog,
  parts: RoutingParts,
  idempotencyKey?: string,
): Promise<{ readonly decision: Decision; readonly answer: RouteAnswer }> {
  const id = decisionIdFor(catalog.name, parts.now(), idempotencyKey);
  const log = await parts.decisionLogs.open(catalog.name);
  const digest = idempotencyKey === undefined ? undefined : digestOf(request, idempotencyKey);
  const found = (earlier: Decision) => {
    refuseOther(earlier, digest);
    return { decision: earlier, answer: answerOf(earlier, catalog.state, request.format) };
  };
  if (digest !== undefined) {
    const earlier = await log.get(id);
    if (earlier !== null) return found(earlier);
  }

  const asked = readQuery(request);
  const query = comparable(await understandQuery(asked, catalog, parts), catalog.state);

  const question = { id, at: parts.now(), request, text: asked.text, query };
  const { assigned, withoutUnit } = assign(request, id, catalog.state);
  const decided = decide(question, catalog, assigned);
  const decision = digest === undefined ? decided : { ...decided, request: digest };
  if (!(await log.append(decision))) {
    // Another one with this key came first, through this process or another: its decision stands.
    const first = await log.get(id);
    if (first === null) throw new StoreUnavailableError(`Decision "${id}" has just expired.`);
    return found(first);
  }
  if (withoutUnit.length > 0) parts.exposures.leaveOut(catalog, withoutUnit);
  if (assigned !== null) parts.exposures.decide(catalog, assigned.assignment);
  if (decision.activation === 'now') expose(decision, catalog, parts.exposures);
  parts.shadows.rank(question, decision, catalog);
  return { decision, answer: answerOf(decision, catalog.state, request.format) };
}

/** With the key in it, so that it says nothing about the query to whoever guesses. */
function digestOf(request: RouteRequest, idempotencyKey: string): string {
  const text = JSON.stringify([idempotencyKey, request]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** @throws Problem idempotency-conflict */
function refuseOther(earlier: Decision, digest: string | undefined): void {
  if (earlier.request === digest) return;
  throw new Problem(
    'idempotency-conflict',
    'This Idempotency-Key was used for another request.',
    'Use a new key for a new request; repeat a key only to repeat the very same one.',
  );
}
