import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities, slateLogProbability } from '../../bandit/exploration/propensities.ts';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Ranking } from '../../bandit/policy.ts';
import type { Random } from '../../bandit/random.ts';
import type { CatalogSettings } from '../ledger/catalog-settings.ts';
import type { Decision, Fallback } from './decision.ts';
import type { Found } from './find-candidates.ts';
import type { RouteRequest } from './route-request.ts';

export interface Slate {
  /** Indices into the candidates, in slate order; pins come first. */
  readonly order: readonly number[];
  /** Probability of each candidate to be in the slate, 0…1. */
  readonly propensities: Float64Array;
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
  const { slots, base } = found.candidates;
  const indexOf = (slot: number): number => slots.indexOf(slot);
  if (found.served !== null) return fixedSlate(found.served.map(indexOf), slots.length, found.fallback);

  const pinned = found.pinned.map(indexOf).slice(0, request.k);
  const free = [...slots.keys()].filter((index) => !pinned.includes(index));
  const inRetrievalOrder = settings.killSwitch || settings.retrievalOrder === true;
  const { exploration, score, fallback } = inRetrievalOrder
    ? {
        exploration: 'greedy' as const,
        score: base,
        fallback: settings.killSwitch ? ('kill_switch' as const) : found.fallback,
      }
    : { ...scoreOf(request, ranking, settings), fallback: found.fallback };
  const freeScore = Float64Array.from(free, (index) => score[index]);
  const { temperature } = settings.policy;
  const k = request.k - pinned.length;
  const draws = k > 0 && free.length > 0;
  const drawn = !draws
    ? new Int32Array(0)
    : drawSlate({ score: freeScore, k, temperature, mode: exploration, random });

  const propensities = new Float64Array(slots.length);
  for (const index of pinned) propensities[index] = 1;
  if (draws && exploration === 'plackett-luce') {
    const inclusion = inclusionPropensities(freeScore, k, temperature, kernels);
    for (const [at, index] of free.entries()) propensities[index] = inclusion[at];
  } else {
    for (const at of drawn) propensities[free[at]] = 1;
  }
  return {
    order: [...pinned, ...Array.from(drawn, (at) => free[at])],
    propensities,
    logProbability: exploration === 'plackett-luce' ? slateLogProbability(freeScore, drawn, temperature) : 0,
    exploration,
    temperature,
    fallback,
  };
}

function scoreOf(
  request: RouteRequest,
  ranking: Ranking,
  { policy }: DrawSettings,
): { exploration: Decision['exploration']; score: Float64Array } {
  if (!request.explore || policy.exploration === 'greedy')
    return { exploration: 'greedy', score: ranking.mean };
  return { exploration: policy.exploration, score: ranking.score };
}

function fixedSlate(order: readonly number[], candidates: number, fallback: Fallback | null): Slate {
  const propensities = new Float64Array(candidates);
  for (const index of order) propensities[index] = 1;
  return { order, propensities, logProbability: 0, exploration: 'greedy', temperature: 0, fallback };
}
