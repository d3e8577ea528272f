import {
  type Decision,
  type DecisionPolicy,
  type Fallback,
  rewardDeadline,
  type SlateReason,
} from '../decisions/decision.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { providerName } from '../ledger/provider-name.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { composedDefinitions, type DefinedTool, definitionIn } from './slate-definition.ts';

export interface RoutedTool {
  readonly name: string;
  /** Its name in the definitions for language models. */
  readonly providerName: string;
  /** 1 for the first. */
  readonly rank: number;
  readonly score: number;
  readonly base: number;
  readonly gain: number;
  readonly uncertainty: number;
  /** Probability that this tool was in the slate, 0…1. */
  readonly propensity: number;
  readonly reason: SlateReason;
  readonly definitionHash: string;
  /** In the requested format; absent for `names`. */
  readonly definition?: unknown;
}

export interface RouteAnswer {
  readonly decisionId: string;
  readonly catalog: string;
  readonly revision: string;
  readonly policy: DecisionPolicy;
  readonly tools: readonly RoutedTool[];
  /** The definitions as one part of a request to the provider, where they are more than a list of them. */
  readonly definitions?: unknown;
  readonly fallback: Fallback | null;
  /** How much of each definition there is. */
  readonly detail: DetailLevel;
  /** What was asked for and could not be had, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** ISO time until which rewards are learned. */
  readonly rewardDeadline: string;
}

/** A decision as the agent gets it, with definitions in the format that its model takes. */
export function answerOf(decision: Decision, state: CatalogState): RouteAnswer {
  const { columns, format, detail } = decision;
  const defined: DefinedTool[] = [];
  const tools = decision.slate.map((index, at): RoutedTool => {
    const name = decision.candidates[index];
    const record = state.tools.find(name);
    const definition = record === undefined ? undefined : definitionIn(format, detail, record.tool);
    if (record !== undefined) defined.push({ tool: record.tool, definition });
    return {
      name,
      providerName: providerName(name),
      rank: at + 1,
      score: columns.score[index],
      base: columns.base[index],
      gain: columns.gain[index],
      uncertainty: columns.uncertainty[index],
      propensity: columns.propensity[index],
      reason: decision.reasons[at],
      definitionHash: decision.hashes[at],
      ...(definition === undefined ? {} : { definition }),
    };
  });
  const definitions = composedDefinitions(format, defined);
  return {
    decisionId: decision.id,
    catalog: decision.catalog,
    revision: decision.revision,
    policy: decision.policy,
    tools,
    ...(definitions !== undefined && { definitions }),
    fallback: decision.fallback,
    detail,
    ...(decision.notes !== undefined && { notes: decision.notes }),
    rewardDeadline: new Date(rewardDeadline(decision)).toISOString(),
  };
}
