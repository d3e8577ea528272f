import type { FloatPool, PoolRange } from './float-pool.ts';
import type { ObservedRecord, ToolReports } from './observed-decisions.ts';
import type { RewardOutcome } from './outcome.ts';

export interface PackedRecord extends Omit<ObservedRecord, 'tools' | 'rewards' | 'features' | 'cases'> {
  readonly tools: readonly [string, ToolReports][];
  readonly rewards: readonly RewardOutcome[];
  readonly features: readonly [string, PoolRange][];
  readonly cases: readonly [string, number][];
}

/** The record of a decision as JSON, its features in the pool. */
export function packRecord(record: ObservedRecord, pool: FloatPool): PackedRecord {
  return {
    ...record,
    tools: [...record.tools],
    rewards: [...record.rewards.values()],
    features: [...record.features].map(([version, rows]) => [version, pool.add(rows)]),
    cases: [...record.cases],
  };
}

/** @param floats the whole pool. */
export function unpackRecord(packed: PackedRecord, floats: Float32Array): ObservedRecord {
  return {
    ...packed,
    tools: new Map(packed.tools),
    rewards: new Map(packed.rewards.map((outcome) => [outcome.rewardId, outcome])),
    features: new Map(
      packed.features.map(([version, [start, length]]) => [version, floats.slice(start, start + length)]),
    ),
    cases: new Map(packed.cases),
  };
}
