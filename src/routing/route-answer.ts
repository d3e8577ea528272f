import type { AnsweredItem } from '../context/answered-item.ts';
import {
  type Decision,
  type DecisionPolicy,
  type Fallback,
  rewardDeadline,
  type SlateReason,
} from '../decisions/decision.ts';
import { itemText } from '../instructions/assemble-prompt.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { providerName } from '../ledger/provider-name.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { withApprovedInstructions, withToolsThatFit } from './approved-now.ts';
import { type BudgetedAnswer, budgetedAnswer, documentsOf } from './budgeted-answer.ts';
import { composedDefinitions, type DefinedTool, definitionIn } from './slate-definition.ts';
import type { TokenCosts } from './token-costs.ts';

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
  /** Of its definition; absent: the request named neither a token budget nor instructions. */
  readonly tokens?: number;
  /** What else is known about it, a statement a line, as far as the budget allows; with assembly `parts` alone. */
  readonly document?: string;
  /** True: it is carried, and its definition is another one than the one that was served before. */
  readonly changed?: boolean;
  /** In the requested format; absent for `names`. */
  readonly definition?: unknown;
}

export interface RouteAnswer extends Partial<BudgetedAnswer> {
  readonly decisionId: string;
  readonly catalog: string;
  readonly revision: string;
  readonly policy: DecisionPolicy;
  readonly tools: readonly RoutedTool[];
  /** The definitions as one part of a request to the provider, where they are more than a list of them. */
  readonly definitions?: unknown;
  readonly fallback: Fallback | null;
  /** What the query is about; null: none of the catalog's domains. Absent: the catalog has none. */
  readonly domain?: string | null;
  /** How much of each definition there is. */
  readonly detail: DetailLevel;
  /** What was asked for and could not be had, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** What the user has that the query needs, best first; absent: no user was named, or nothing is kept of the user. */
  readonly context?: readonly AnsweredItem[];
  /** ISO time until which rewards are learned. */
  readonly rewardDeadline: string;
  /** Probability that the slate is enough, 0…1. */
  readonly sufficiency?: number;
  /** Whether that is at least the threshold of the catalog; if not, ask for more tools. */
  readonly sufficient?: boolean;
}

/**
 * A decision as the agent gets it, with definitions in the format that its model takes.
 * @param context the items that were chosen, as they are now
 */
export function answerOf(
  decided: Decision,
  state: CatalogState,
  costs: TokenCosts,
  context: readonly AnsweredItem[] = [],
): RouteAnswer {
  const fitting = withToolsThatFit(decided, state, costs);
  const { decision, notes: withheld } = withApprovedInstructions(fitting.decision, state, costs);
  const notes = [...(decision.notes ?? []), ...fitting.notes, ...withheld];
  const { columns, format, detail, budget, carried } = decision;
  const isCarried = (at: number): boolean => at < (carried?.tools ?? 0);
  const defined: DefinedTool[] = [];
  const documents = documentsOf(decision, state, costs);
  const tools = decision.slate.map((index, at): RoutedTool => {
    const name = decision.candidates[index];
    const record = state.tools.findServed(name);
    const served = carried?.details[at] ?? detail;
    const definition = record === undefined ? undefined : definitionIn(format, served, record.tool);
    const isChanged = isCarried(at) && carried?.changed?.includes(name) === true;
    if (record !== undefined) {
      defined.push({ tool: record.tool, definition, isCarried: isCarried(at) && !isChanged });
    }
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
      ...(budget !== undefined && { tokens: budget.tokens[index] }),
      ...(documents[at]?.lines.length > 0 && { document: documents[at].lines.join('\n') }),
      ...(isChanged && { changed: true }),
      ...(definition === undefined ? {} : { definition }),
    };
  });
  const definitions = composedDefinitions(format, defined, budget?.assembly === 'append');
  return {
    decisionId: decision.id,
    catalog: decision.catalog,
    revision: decision.revision,
    policy: decision.policy,
    tools,
    ...(definitions !== undefined && { definitions }),
    fallback: decision.fallback,
    ...(decision.domain !== undefined && { domain: decision.domain }),
    detail,
    ...(notes.length > 0 && { notes }),
    ...(decision.context !== undefined && { context }),
    rewardDeadline: new Date(rewardDeadline(decision)).toISOString(),
    ...(decision.sufficiency !== undefined && sufficiencyAnswer(decision.sufficiency, state)),
    ...budgetedAnswer(decision, state, costs, documents, context.map(itemText)),
  };
}

/** A sufficiency, and whether the catalog takes it for enough. */
export function sufficiencyAnswer(
  sufficiency: number,
  { settings }: CatalogState,
): { readonly sufficiency: number; readonly sufficient: boolean } {
  return { sufficiency, sufficient: sufficiency >= settings.sufficiencyThreshold };
}
