import { sufficiencyFeatures } from '../../bandit/calibration/sufficiency-features.ts';
import { Float32Columns } from '../../bandit/columns.ts';
import type { Ranking } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Decision, DecisionContext, SlateReason } from '../decisions/decision.ts';
import { type AssignedVariant, detailFor } from '../experiments/assign.ts';
import type { CatalogSettings } from '../ledger/catalog-settings.ts';
import { taskKey, unitKey } from '../ledger/unit.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { LearnerVersion } from '../state/learner-version.ts';
import { type Carried, takenOver, threadOf } from './carried.ts';
import type { Found } from './find-candidates.ts';
import type { RouteRequest } from './route-request.ts';
import type { Slate } from './select-slate.ts';
import type { Spent } from './select-under-budget.ts';
import type { UnderstoodQuery } from './understand-query.ts';

/** What is recorded of a question. */
interface Asked {
  readonly id: string;
  readonly at: number;
  readonly request: RouteRequest;
  readonly text: string;
  readonly query: UnderstoodQuery;
  readonly carried?: Carried;
  readonly context?: DecisionContext;
  readonly notes?: readonly string[];
}

/** What was found out for it. */
interface DecisionParts {
  readonly learner: LearnerVersion;
  readonly assigned: AssignedVariant | null;
  readonly found: Found;
  readonly ranking: Ranking;
  readonly slate: Slate & Partial<Spent>;
  readonly catalog: Pick<Catalog, 'name' | 'state'>;
}

/** The record of a decision: all that explaining, learning and evaluating it will ever need. */
export function recordDecision(question: Asked, parts: DecisionParts): Decision {
  const { id, at, request, text, query } = question;
  const { learner, assigned, found, ranking, slate, catalog } = parts;
  const { budget, instructions } = slate;
  const { state } = catalog;
  const { candidates } = found;
  const { task } = request;
  const owner = request.userId ?? request.unitId;
  const unit = owner ?? request.sessionId;
  const names: string[] = [];
  for (const slot of candidates.slots) names.push(state.tools.atSlot(slot)!.tool.name);
  const copies = new Float32Columns(names.length, 12);
  const columns = {
    score: copies.copy(slate.score),
    mean: copies.copy(ranking.mean),
    base: copies.copy(ranking.base),
    gain: copies.copy(ranking.gain),
    uncertainty: copies.copy(ranking.uncertainty),
    bonus: copies.copy(ranking.bonus),
    trials: copies.copy(ranking.trials),
    propensity: copies.copy(slate.propensities),
    similarity: copies.copy(candidates.similarity),
    lexical: copies.copy(candidates.lexical),
    dense: copies.copy(candidates.dense),
    retrieval: copies.copy(candidates.base),
  };
  const reasons = slate.order.map((index) => reasonOf(index, slate.exploration, request, found, ranking));
  const hashes = slate.order.map((index) => state.merges.served(candidates.slots[index])!.hash);
  const thread = threadOf(request);
  const taken =
    question.carried &&
    takenOver(question.carried, {
      format: request.format,
      slate: slate.order,
      candidates: names,
      hashes,
      reasons,
      budget,
      instructions,
    });
  const notes = [...(question.notes ?? []), ...found.notes, ...(taken?.notes ?? [])];
  // Written to, because a computed key in a literal takes longer than the rest of it.
  const features: Record<string, Float32Array> = {};
  features[learner.version] = ranking.features;
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
    ...(state.settings.domains.length > 0 && { domain: found.domain }),
    ...(found.toolscope !== null && { slateBy: 'toolscope' as const }),
    exploration: slate.exploration,
    temperature: slate.temperature,
    propensityMethod: slate.propensityMethod,
    k: request.k,
    format: request.format,
    detail: detailFor(request, assigned, state.settings),
    ...(state.settings.rewards.defaultReward !== null && {
      defaultReward: state.settings.rewards.defaultReward,
    }),
    // Without an embedding, or words, half of the features are missing: such a decision would teach the wrong thing.
    learn: request.learn && !query.embedderDown && query.tokens.length > 0,
    fallback: slate.fallback,
    logProbability: slate.logProbability,
    activation: request.activate,
    activatedAt: request.activate === 'now' ? at : null,
    ...(unit !== undefined && { unit: unitKey(unit) }),
    ...(task !== undefined && { task: taskKey({ task, owner }) }),
    candidates: names,
    ...mergedOf(candidates.slots, state),
    slate: slate.order,
    reasons,
    hashes,
    columns,
    sufficiency: sufficiencyOf(columns, question, state, budget?.core ?? request.k),
    ...(request.rating !== undefined && { rating: request.rating }),
    extras: learner.policy.extras,
    features,
    ...(budget !== undefined && { budget }),
    ...(instructions !== undefined && { instructions }),
    ...(taken !== undefined && { carried: taken.carried }),
    ...(thread !== undefined && { thread }),
    ...(question.context !== undefined && { context: question.context }),
    ...(notes.length > 0 && { notes }),
    ...(assigned !== null && { assignments: [assigned.assignment] }),
  };
}

function mergedOf(slots: Int32Array, { tools, merges }: CatalogState): Pick<Decision, 'merged'> {
  if (merges.size === 0) return {};
  const stand = [...slots].filter((slot) => merges.membersOf(slot).length > 0);
  if (stand.length === 0) return {};
  const ids = stand.map((slot) => [tools.atSlot(slot)!.tool.name, merges.approvedOf(slot)!.id]);
  return { merged: Object.fromEntries(ids) };
}

/** The probability that the slate suffices, from what is known before it is drawn. */
function sufficiencyOf(
  columns: Decision['columns'],
  { request: { rating }, query }: Asked,
  { sufficiency }: CatalogState,
  served: number | readonly number[],
): number {
  const features = sufficiencyFeatures(columns, served, query.parts.length);
  return sufficiency.probability({ features, rating });
}

function variantOf({ assignment: { experiment, variant } }: AssignedVariant) {
  return { experiment, variant };
}

function rerankOf(
  { rerank, rerankedInstructions }: UnderstoodQuery,
  { reranker }: CatalogSettings,
): Pick<Decision, 'rerank'> {
  if (rerank === null || reranker === null) return {};
  const instructions = rerankedInstructions?.fallback;
  return {
    rerank: {
      ...{ by: reranker.model, fallback: rerank.fallback },
      ...(instructions !== undefined && { instructions }),
    },
  };
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
  if (found.carried.includes(found.candidates.slots[index])) return 'carried';
  if (found.pinned.includes(found.candidates.slots[index])) return 'pinned';
  const nominated = found.origins[index];
  const origin = nominated === 'remembered' || nominated === 'used' ? nominated : 'retrieved';
  if (exploration === 'greedy') return origin;
  let better = 0;
  for (const mean of ranking.mean) if (mean > ranking.mean[index]) better++;
  if (better >= request.k) return 'explored';
  return origin;
}
