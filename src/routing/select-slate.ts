import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import {
  inclusionPropensities,
  type PropensityMethod,
  slateLogProbability,
} from '../../bandit/exploration/propensities.ts';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Ranking } from '../../bandit/policy.ts';
import type { Random } from '../../bandit/random.ts';
import type { Decision, Fallback } from '../decisions/decision.ts';
import type { CatalogSettings } from '../ledger/catalog-settings.ts';
import type { Found } from './find-candidates.ts';
import type { RouteRequest } from './route-request.ts';

export interface Slate {
  /** Indices into the candidates, in slate order; pins come first. */
  readonly order: readonly number[];
  /** What the candidates were ordered by, before any noise of exploration. */
  readonly score: Float64Array;
  /** Probability of each candidate to be in the slate, 0…1. */
  readonly propensities: Float64Array;
  readonly propensityMethod: PropensityMethod;
  readonly logProbability: number;
  readonly exploration: Decision['exploration'];
  readonly temperature: number;
  readonly fallback: Fallback | null;
}

/** How a slate is drawn: the catalog's settings, or those of a variant. */
export interface DrawSettings extends Pick<CatalogSettings, 'policy' | 'killSwitch'> {
  /** An apprentice ranks and learns, but retrieval order is served. */
  readonly retrievalOrder?: boolean;
}

/** Which candidates are served: pins, then the top k, drawn with noise where the catalog explores. */
export function selectSlate(
  request: RouteRequest,
  found: Found,
  ranking: Ranking,
  settings: DrawSettings,
  random: Random,
  kernels: Kernels,
): Slate {
  const { slots } = found.candidates;
  const indexOf = (slot: number): number => slots.indexOf(slot);
  if (found.served !== null) return fixedSlate(found.served.map(indexOf), ranking.mean, found.fallback);

  const pin = found.pinned.map(indexOf);
  const k = request.k - pin.length;
  const { exploration, score, fallback } = rankedBy(request, found, ranking, settings);
  const free = freeOf(score, pin);
  const { temperature } = settings.policy;
  const draws = k > 0 && free.score.length > 0;
  const drawn = draws
    ? drawSlate({ score: free.score, k, temperature, mode: exploration, random })
    : new Int32Array(0);
  const byChance = draws && exploration === 'plackett-luce';
  const inclusion = byChance
    ? inclusionPropensities(free.score, k, temperature, kernels)
    : chosen(drawn, free.score.length);
  const order = [...pin];
  for (const at of drawn) order.push(free.indices?.[at] ?? at);
  return {
    order,
    score,
    propensities: free.indices === null ? inclusion : beside(pin, free.indices, inclusion),
    propensityMethod: byChance ? 'exact' : 'deterministic',
    logProbability: exploration === 'plackett-luce' ? slateLogProbability(free.score, drawn, temperature) : 0,
    exploration,
    temperature,
    fallback,
  };
}

/** The scores of the candidates that are not pinned, and their indices; null: nothing is pinned, and they are as they were. */
function freeOf(
  score: Float64Array,
  pin: readonly number[],
): { readonly score: Float64Array; readonly indices: readonly number[] | null } {
  if (pin.length === 0) return { score, indices: null };
  const indices: number[] = [];
  for (let index = 0; index < score.length; index++) if (!pin.includes(index)) indices.push(index);
  return { score: Float64Array.from(indices, (index) => score[index]), indices };
}

/** Returns the propensities of all candidates, of which the pinned ones are shown for certain. */
function beside(pin: readonly number[], free: readonly number[], inclusion: Float64Array): Float64Array {
  const propensities = chosen(pin, pin.length + free.length);
  for (let at = 0; at < free.length; at++) propensities[free[at]] = inclusion[at];
  return propensities;
}

/** Returns 1 for each of these, and 0 for the rest of so many. */
function chosen(indices: Iterable<number>, count: number): Float64Array {
  const propensities = new Float64Array(count);
  for (const index of indices) propensities[index] = 1;
  return propensities;
}

/** By what candidates are ordered, and how slates are drawn from that. */
export type RankedCandidates = Pick<Slate, 'exploration' | 'score' | 'fallback'>;

/** What orders the candidates: what the policy says, with or without its bonuses, ToolScope, or retrieval alone. */
export function rankedBy(
  request: RouteRequest,
  { candidates, fallback, toolscope }: Found,
  ranking: Ranking,
  { policy, killSwitch, retrievalOrder }: DrawSettings,
): RankedCandidates {
  if (killSwitch) return { exploration: 'greedy', score: candidates.base, fallback: 'kill_switch' };
  if (toolscope !== null) return { exploration: 'greedy', score: toolscope, fallback };
  if (retrievalOrder === true) return { exploration: 'greedy', score: candidates.base, fallback };
  if (!request.explore || policy.exploration === 'greedy') {
    return { exploration: 'greedy', score: ranking.mean, fallback };
  }
  return { exploration: policy.exploration, score: ranking.score, fallback };
}

function fixedSlate(order: readonly number[], score: Float64Array, fallback: Fallback | null): Slate {
  return {
    order,
    score,
    propensities: chosen(order, score.length),
    propensityMethod: 'deterministic',
    logProbability: 0,
    exploration: 'greedy',
    temperature: 0,
    fallback,
  };
}
