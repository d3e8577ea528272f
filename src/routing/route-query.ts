import { randomFor } from '../../bandit/random.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { answerOf } from './answer.ts';
import type { Decision } from './decision.ts';
import { decisionIdFor } from './decision-id.ts';
import { findCandidates } from './find-candidates.ts';
import { readQuery } from './read-query.ts';
import { recordDecision } from './record-decision.ts';
import type { RouteAnswer, RouteRequest } from './route-request.ts';
import type { RoutingParts } from './routing-parts.ts';
import { selectSlate } from './select-slate.ts';
import { understandQuery } from './understand-query.ts';

/**
 * The way of one query: embed → shortlist → rank → select and draw → log → answer. Nothing in here learns.
 * After the embedding everything runs in one turn of the event loop, on one state.
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

  const text = readQuery(request);
  const query = await understandQuery(text, catalog, parts.embedder);

  const learner = catalog.state.learners.active;
  const recall = learner.policy.recall(query.features);
  const found = findCandidates(request, query, recall, catalog);
  const ranking = learner.policy.rank({
    query: query.features,
    candidates: found.candidates,
    recall,
    random: randomFor(`${id}/rank`),
  });
  const slate = selectSlate(request, found, ranking, catalog.state.settings, randomFor(`${id}/draw`));

  const at = parts.now();
  const decision = recordDecision({ id, at, request, text, query, learner, found, ranking, slate, catalog });
  await log.append(decision);
  return { decision, answer: answerOf(decision, catalog.state, request.format) };
}
