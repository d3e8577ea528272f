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
  const { candidates, columns, query, task, assignments, instructions, discoveries, context } = decision;
  const tools = decision.slate.map((index) => candidates[index]);
  const indices = [...decision.slate];
  for (const tool of reported) {
    if (tools.includes(tool)) continue;
    tools.push(tool);
    indices.push(candidates.indexOf(tool));
  }
  const shown = decision.slate.length;
  const merged = observedMerges(decision, tools.slice(0, shown));
  const features: Record<string, Float32Array> = {};
  for (const version in decision.features) {
    features[version] = tableRowsOf(decision.features[version], decision.extras.length, indices);
  }
  const observed: { -readonly [Member in keyof ObservedDecision]: ObservedDecision[Member] } = {
    id: decision.id,
    at: decision.at,
    deadline: rewardDeadline(decision),
    fingerprint: decision.fingerprint,
    embedding: query.embedding,
    terms: query.terms,
    tools,
    shown,
    columns: {
      similarity: rowsOf(columns.similarity, indices),
      lexical: rowsOf(columns.lexical, indices),
      dense: rowsOf(columns.dense, indices),
      retrieval: rowsOf(columns.retrieval, indices),
    },
    features,
    unit: unitNumber(decision.unit),
    learn: decision.learn,
    sufficiency: observedSufficiency(decision),
  };
  if (merged !== undefined) observed.merged = merged;
  if (task !== undefined) observed.task = task;
  if (assignments !== undefined) observed.assignments = assignments;
  if (instructions !== undefined) observed.instructions = observedInstructions(instructions);
  if (discoveries !== undefined) observed.discovered = discoveredCount(decision);
  if (context !== undefined) observed.context = observedContext(context);
  return observed;
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

function observedMerges({ merged }: Decision, slate: readonly string[]): ObservedDecision['merged'] {
  if (merged === undefined) return undefined;
  const shown = slate.filter((name) => Object.hasOwn(merged, name));
  return shown.length === 0 ? undefined : Object.fromEntries(shown.map((name) => [name, merged[name]]));
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

/** Returns rows of a row-major table; zeros for a tool that was no candidate. */
function tableRowsOf(table: Float32Array, width: number, indices: readonly number[]): Float32Array {
  const rows = new Float32Array(indices.length * width);
  for (let at = 0; at < indices.length; at++) {
    if (indices[at] < 0) continue;
    for (let i = 0; i < width; i++) rows[at * width + i] = table[indices[at] * width + i];
  }
  return rows;
}
