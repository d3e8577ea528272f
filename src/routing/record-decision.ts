import { asFloat32Columns } from '../../bandit/columns.ts';
import type { Candidates, Ranking } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { AssignedVariant } from '../experiments/assign.ts';
import type { CatalogSettings } from '../ledger/catalog-settings.ts';
import type { LearnerVersion } from '../state/learners.ts';
import type { Decision, DecisionColumns, SlateReason } from './decision.ts';
import type { Found } from './find-candidates.ts';
import type { RouteRequest } from './route-request.ts';
import type { Slate } from './select-slate.ts';
import type { UnderstoodQuery } from './understand-query.ts';

interface DecisionParts {
  readonly id: string;
  readonly at: number;
  readonly request: RouteRequest;
  readonly text: string;
  readonly query: UnderstoodQuery;
  readonly learner: LearnerVersion;
  readonly assigned: AssignedVariant | null;
  readonly found: Found;
  readonly ranking: Ranking;
  readonly slate: Slate;
  readonly catalog: Pick<Catalog, 'name' | 'state'>;
}

/** The record of a decision: all that explaining, learning and evaluating it will ever need. */
export function recordDecision(parts: DecisionParts): Decision {
  const { id, at, request, text, query, learner, assigned, found, ranking, slate, catalog } = parts;
  const { state } = catalog;
  const { candidates } = found;
  const names: string[] = [];
  for (const slot of candidates.slots) names.push(state.tools.atSlot(slot)!.tool.name);
  const reasons = slate.order.map((index) => reasonOf(index, slate.exploration, request, found, ranking));
  return {
    id,
    catalog: catalog.name,
    at,
    deadline: at + state.settings.rewards.windowSeconds * 1000,
    revision: state.revision,
    position: state.position,
    policy: {
      name: learner.settings.name,
      version: learner.version,
      ...(assigned !== null && variantOf(assigned)),
    },
    fingerprint: state.fingerprint,
    query: query.features,
    ...(state.settings.retainText ? { text } : {}),
    ...splitOf(query, state.settings.retainText),
    ...rerankOf(query, state.settings),
    exploration: slate.exploration,
    temperature: slate.temperature,
    propensityMethod: slate.propensityMethod,
    k: request.k,
    // Without an embedding half of the features are missing: such a decision would teach the wrong thing.
    learn: request.learn && !query.embedderDown,
    fallback: slate.fallback,
    logProbability: slate.logProbability,
    activation: request.activate,
    activatedAt: request.activate === 'now' ? at : null,
    ...(request.unitId === undefined ? {} : { unitId: request.unitId }),
    ...(request.sessionId === undefined ? {} : { sessionId: request.sessionId }),
    ...(request.userId === undefined ? {} : { userId: request.userId }),
    candidates: names,
    slate: slate.order,
    reasons,
    hashes: slate.order.map((index) => state.tools.atSlot(candidates.slots[index])!.hash),
    columns: columnsOf(found.candidates, ranking, slate),
    extras: learner.policy.extras,
    features: { [learner.version]: ranking.features },
    ...(assigned !== null && { assignments: [assigned.assignment] }),
  };
}

/** In the order of `DecisionColumns`. */
function columnsOf(
  { lexical, dense, ...candidates }: Candidates,
  ranking: Ranking,
  slate: Slate,
): DecisionColumns {
  const { mean, base, gain, uncertainty, bonus, trials } = ranking;
  const columns = asFloat32Columns([
    ...[slate.score, mean, base, gain, uncertainty, bonus, trials, slate.propensities],
    ...[candidates.similarity, lexical, dense, candidates.base],
  ]);
  return {
    score: columns[0],
    mean: columns[1],
    base: columns[2],
    gain: columns[3],
    uncertainty: columns[4],
    bonus: columns[5],
    trials: columns[6],
    propensity: columns[7],
    similarity: columns[8],
    lexical: columns[9],
    dense: columns[10],
    retrieval: columns[11],
  };
}

function variantOf({ assignment: { experiment, variant } }: AssignedVariant) {
  return { experiment, variant };
}

function rerankOf({ rerank }: UnderstoodQuery, { reranker }: CatalogSettings): Pick<Decision, 'rerank'> {
  if (rerank === null || reranker === null) return {};
  return { rerank: { by: reranker.model, fallback: rerank.fallback } };
}

/** A split that found nothing to split, by the splitter that it was meant for, is not worth a word. */
function splitOf({ split, parts }: UnderstoodQuery, retainText: boolean): Pick<Decision, 'split'> {
  if (split === null || (parts.length === 0 && split.fallback === null)) return {};
  const texts = retainText && parts.length > 0 ? { texts: parts.map(({ text }) => text) } : {};
  return { split: { by: split.by, parts: parts.length, fallback: split.fallback, ...texts } };
}

function reasonOf(
  index: number,
  exploration: Decision['exploration'],
  request: RouteRequest,
  found: Found,
  ranking: Ranking,
): SlateReason {
  if (found.pinned.includes(found.candidates.slots[index])) return 'pinned';
  const origin = found.origins[index] === 'remembered' ? 'remembered' : 'retrieved';
  if (exploration === 'greedy') return origin;
  let better = 0;
  for (const mean of ranking.mean) if (mean > ranking.mean[index]) better++;
  if (better >= request.k) return 'explored';
  return origin;
}
