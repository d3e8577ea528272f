import { sufficiencyFeatures } from '../../bandit/calibration/sufficiency-features.ts';
import { chosenContext } from '../../bandit/chosen-context.ts';
import type { QueryFeatures } from '../../bandit/policy.ts';
import type { ObservedContext, ObservedDecision, ObservedInstructions } from '../ledger/entry.ts';
import { unitNumber } from '../ledger/unit.ts';
import {
  type Decision,
  type DecisionContext,
  type DecisionInstructions,
  discoveredCount,
  rewardDeadline,
} from './decision.ts';

/** Returns the part of a decision that learning needs: for the slate, and for tools that were called without being in it. */
export function observedDecision(decision: Decision, reported: readonly string[]): ObservedDecision {
  const slate = decision.slate.map((index) => decision.candidates[index]);
  const others = [...new Set(reported)].filter((tool) => !slate.includes(tool));
  const tools = [...slate, ...others];
  const indices = [...decision.slate, ...others.map((tool) => decision.candidates.indexOf(tool))];
  const width = decision.extras.length;
  const features = Object.entries(decision.features).map(([version, all]) => {
    const rows = new Float32Array(tools.length * width);
    for (let at = 0; at < indices.length; at++) {
      if (indices[at] < 0) continue;
      for (let i = 0; i < width; i++) rows[at * width + i] = all[indices[at] * width + i];
    }
    return [version, rows] as const;
  });
  return {
    id: decision.id,
    at: decision.at,
    deadline: rewardDeadline(decision),
    fingerprint: decision.fingerprint,
    embedding: decision.query.embedding,
    terms: decision.query.terms,
    tools,
    shown: slate.length,
    ...observedMerges(decision, slate),
    columns: {
      similarity: rowsOf(decision.columns.similarity, indices),
      lexical: rowsOf(decision.columns.lexical, indices),
      dense: rowsOf(decision.columns.dense, indices),
      retrieval: rowsOf(decision.columns.retrieval, indices),
    },
    features: Object.fromEntries(features),
    unit: unitNumber(decision.unit),
    ...(decision.task !== undefined && { task: decision.task }),
    learn: decision.learn,
    ...(decision.assignments !== undefined && { assignments: decision.assignments }),
    ...(decision.instructions !== undefined && { instructions: observedInstructions(decision.instructions) }),
    sufficiency: observedSufficiency(decision),
    ...(decision.discoveries !== undefined && { discovered: discoveredCount(decision) }),
    ...(decision.context !== undefined && { context: observedContext(decision.context) }),
  };
}

/** Returns the query of a decision as policies read it: with what was chosen of the context of its user. */
export function queryWithContext({ query, unit, at, context: kept }: AskedFor): QueryFeatures {
  const context = kept && chosenContext(unitNumber(unit), at, kept);
  return context === undefined ? query : { ...query, context };
}

interface AskedFor extends Pick<Decision, 'query' | 'at'> {
  readonly unit?: string | undefined;
  readonly context?: DecisionContext | undefined;
}

function observedContext({ items, features }: DecisionContext): ObservedContext {
  return { items: items.map(({ number }) => ({ number })), features: [...features] };
}

function observedMerges({ merged }: Decision, slate: readonly string[]): Pick<ObservedDecision, 'merged'> {
  const shown = slate.filter((name) => merged !== undefined && Object.hasOwn(merged, name));
  return shown.length === 0 ? {} : { merged: Object.fromEntries(shown.map((name) => [name, merged![name]])) };
}

function observedInstructions({
  ids,
  hashes,
  propensity,
  score,
  shown,
}: DecisionInstructions): ObservedInstructions {
  return { ids, hashes, propensity, score, shown };
}

function observedSufficiency({
  columns,
  k,
  budget,
  split,
  sufficiency,
  rating,
}: Decision): NonNullable<ObservedDecision['sufficiency']> {
  return {
    features: sufficiencyFeatures(columns, budget?.core ?? k, split?.parts ?? 0),
    ...(sufficiency !== undefined && { predicted: sufficiency }),
    ...(rating !== undefined && { rating }),
  };
}

/** Returns rows of a column; NaN for a tool that was no candidate. */
function rowsOf(column: Float32Array, indices: readonly number[]): Float32Array {
  // Not `Float32Array.from`, which calls a function for each of the few.
  const rows = new Float32Array(indices.length);
  for (let at = 0; at < rows.length; at++) rows[at] = indices[at] < 0 ? Number.NaN : column[indices[at]];
  return rows;
}
