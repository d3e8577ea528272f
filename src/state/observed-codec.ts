import type { ObservedDecision } from '../ledger/entry.ts';
import type { NumberPool, NumberPoolReader, PoolRange } from './number-pool.ts';
import type { ObservedRecord, ToolReports } from './observed-decisions.ts';
import type { RewardOutcome } from './outcome.ts';

interface PackedDecision extends Omit<ObservedDecision, 'embedding' | 'terms' | 'similarities' | 'features'> {
  readonly embedding: PoolRange;
  readonly terms: PoolRange;
  readonly weights: PoolRange;
  readonly similarities: PoolRange;
  readonly features: readonly [string, PoolRange][];
}

export interface PackedRecord extends Omit<ObservedRecord, 'decision' | 'tools' | 'rewards' | 'cases'> {
  readonly decision: PackedDecision | null;
  readonly tools: readonly [string, ToolReports][];
  readonly rewards: readonly RewardOutcome[];
  readonly cases: readonly [string, number][];
}

/** The record of a decision as JSON, its arrays in the pool. */
export function packRecord(record: ObservedRecord, pool: NumberPool): PackedRecord {
  const { decision } = record;
  return {
    ...record,
    decision: decision === null ? null : packDecision(decision, pool),
    tools: [...record.tools],
    rewards: [...record.rewards.values()],
    cases: [...record.cases],
  };
}

export function unpackRecord(packed: PackedRecord, pool: NumberPoolReader): ObservedRecord {
  return {
    ...packed,
    decision: packed.decision === null ? null : unpackDecision(packed.decision, pool),
    tools: new Map(packed.tools),
    rewards: new Map(packed.rewards.map((outcome) => [outcome.rewardId, outcome])),
    cases: new Map(packed.cases),
  };
}

function packDecision(decision: ObservedDecision, pool: NumberPool): PackedDecision {
  return {
    ...decision,
    embedding: pool.addFloats(decision.embedding),
    terms: pool.addIntegers(decision.terms.terms),
    weights: pool.addFloats(decision.terms.weights),
    similarities: pool.addFloats(decision.similarities),
    features: Object.entries(decision.features).map(([version, rows]) => [version, pool.addFloats(rows)]),
  };
}

function unpackDecision({ weights, ...packed }: PackedDecision, pool: NumberPoolReader): ObservedDecision {
  return {
    ...packed,
    embedding: pool.floatsOrNull(packed.embedding),
    terms: { terms: pool.integers(packed.terms), weights: pool.floats(weights) },
    similarities: pool.floats(packed.similarities),
    features: Object.fromEntries(packed.features.map(([version, rows]) => [version, pool.floats(rows)])),
  };
}
