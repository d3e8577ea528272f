import type { Catalog } from '../catalog/catalog.ts';
import { assign } from '../experiments/assign.ts';
import { answerOf } from './answer.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { decisionIdFor } from './decision-id.ts';
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
  if (idempotencyKey !== undefined) {
    const earlier = await log.get(id);
    if (earlier !== null)
      return { decision: earlier, answer: answerOf(earlier, catalog.state, request.format) };
  }

  const asked = readQuery(request);
  const query = comparable(await understandQuery(asked, catalog, parts), catalog.state);

  const question = { id, at: parts.now(), request, text: asked.text, query };
  const { assigned, withoutUnit } = assign(request, id, catalog.state);
  const decision = decide(question, catalog, assigned);
  if (withoutUnit.length > 0) parts.exposures.leaveOut(catalog, withoutUnit);
  await log.append(decision);
  if (assigned !== null) parts.exposures.decide(catalog, assigned.assignment);
  if (decision.activation === 'now') expose(decision, catalog, parts.exposures);
  parts.shadows.rank(question, decision, catalog);
  return { decision, answer: answerOf(decision, catalog.state, request.format) };
}
