import type { Decision, DecisionPolicy, Fallback, SlateReason } from '../decisions/decision.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { SlateFormat } from './route-request.ts';

export interface RoutedTool {
  readonly name: string;
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
  readonly fallback: Fallback | null;
  /** What was asked for and could not be had, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** ISO time until which rewards are learned. */
  readonly rewardDeadline: string;
}

/** A decision as the agent gets it, with definitions in the format that its model takes. */
export function answerOf(decision: Decision, state: CatalogState, format: SlateFormat): RouteAnswer {
  const { columns } = decision;
  const tools = decision.slate.map((index, at): RoutedTool => {
    const name = decision.candidates[index];
    const record = state.tools.find(name);
    const definition = record === undefined ? undefined : definitionIn(format, record.tool);
    return {
      name,
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
  return {
    decisionId: decision.id,
    catalog: decision.catalog,
    revision: decision.revision,
    policy: decision.policy,
    tools,
    fallback: decision.fallback,
    ...(decision.notes !== undefined && { notes: decision.notes }),
    rewardDeadline: new Date(decision.deadline).toISOString(),
  };
}

function definitionIn(format: SlateFormat, tool: ToolDefinition): unknown {
  const { name, description, inputSchema } = tool;
  switch (format) {
    case 'mcp':
      return { name, description, inputSchema };
    case 'openai':
      return { type: 'function', function: { name, description, parameters: inputSchema } };
    case 'anthropic':
      return { name, description, input_schema: inputSchema };
    case 'names':
      return undefined;
  }
}
