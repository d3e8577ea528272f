import type { Decision } from '../decisions/decision.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { RouteAnswer, RoutedTool, SlateFormat } from './route-request.ts';

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
