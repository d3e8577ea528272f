import {
  type Assembly,
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
  /** In the order in which they belong into the prompt, the safety overlay first; absent: the request wanted none. */
  readonly instructions?: readonly RoutedInstruction[];
  /** Absent, like all that follows but `sufficiency`: the request named neither a token budget nor instructions. */
  readonly tokens?: AnswerTokens;
  readonly leftOut?: LeftOut;
  readonly costTokens?: CostTokens;
  readonly assembly?: Assembly;
  /** The system prompt, with assembly `prompt`. */
  readonly prompt?: string;
  /** Probability that the slate is enough, 0…1. */
  readonly sufficiency?: number;
  /** Whether that is at least the threshold of the catalog; if not, ask for more tools. */
  readonly sufficient?: boolean;
}

export interface RoutedInstruction {
  readonly id: string;
  readonly text: string;
  readonly tokens: number;
  /** Expected increase of the success when it is present; 0 for safety instructions, which are not weighed. */
  readonly gain: number;
  /** `safety`, `role`, `policy`, `style` or `exemplar`. */
  readonly kind: string;
  /** Probability that this instruction was served, 0…1. */
  readonly propensity: number;
  readonly carried?: boolean;
}

export interface AnswerTokens {
  /** Of all definitions, carried ones too. */
  readonly slate: number;
  readonly instructions: number;
  /** Of all that is served. */
  readonly total: number;
  /** Of all tools of the catalog in full, and all its approved instructions. */
  readonly monolithic: number;
}

/** What would have been served if it had cost nothing, best first. */
export interface LeftOut {
  readonly tools: readonly { readonly name: string; readonly tokens: number }[];
  readonly instructions: readonly { readonly id: string; readonly tokens: number }[];
}

/** What is served, in tokens by how a provider with a prompt cache charges for them. */
export interface CostTokens {
  /** New in the prompt. */
  readonly written: number;
  /** There before, byte for byte. */
  readonly read: number;
  /** At the full price: written × 1.25 + read × 0.1; where the prompt is made anew, which no cache helps, all of it × 1. */
  readonly full: number;
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
    ...(decision.sufficiency !== undefined && sufficiencyAnswer(decision.sufficiency, state)),
  };
}

/** A sufficiency, and whether the catalog takes it for enough. */
export function sufficiencyAnswer(
  sufficiency: number,
  { settings }: CatalogState,
): { readonly sufficiency: number; readonly sufficient: boolean } {
  return { sufficiency, sufficient: sufficiency >= settings.sufficiencyThreshold };
}
