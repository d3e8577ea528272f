import { COLUMNS, type ContextFeature } from '../../bandit/ranking/context-features.ts';
import type { ChosenItem } from './choose-context.ts';

/** Numbers that a policy reads of what was chosen: whether there is anything, how sure and how many, and of what kinds. */
export const POLICY_FEATURES = 16;
const KINDS = POLICY_FEATURES - 8;

/** Returns `POLICY_FEATURES` numbers, 0…1, all 0 where nothing was chosen. Stores count at places that their names hash to. */
export function policyFeatures(chosen: readonly ChosenItem[]): Float32Array {
  const features = new Float32Array(POLICY_FEATURES);
  if (chosen.length === 0) return features;
  const [{ score, features: best }] = chosen;
  const known = (name: ContextFeature): number => Math.min(1, Math.max(0, best[COLUMNS[name]] || 0));
  features.set([
    1,
    score,
    1 - 1 / (1 + chosen.length),
    known('cosine'),
    known('its uses at this hour'),
    known('its uses on this weekday'),
    known('its uses with the tools'),
    known('share of all uses'),
  ]);
  const total = chosen.reduce((sum, one) => sum + one.score, 0);
  for (const { store, score: own } of chosen) features[8 + placeOf(store)] += own / total;
  return features.map((value) => Math.min(1, value));
}

function placeOf(store: string): number {
  let hash = 0;
  for (let i = 0; i < store.length; i++) hash = (Math.imul(hash, 31) + store.charCodeAt(i)) >>> 0;
  return hash % KINDS;
}
