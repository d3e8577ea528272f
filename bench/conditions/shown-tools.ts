import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';

/**
 * How much of a tool is seen: by retrieval, and by the model that picks. The first four are those of the paper
 * (Müller, Semantic Context for Tool Orchestration, section 5.1); the service itself uses the whole definition, whose
 * parameters BM25 reads as well.
 */
export const CONDITIONS = [
  'index only',
  'names only',
  'descriptions only',
  'names and descriptions',
  'whole definitions',
] as const;
export type Condition = (typeof CONDITIONS)[number];

/** The tool as it is seen under a condition. @param number its number in the catalogue, from 1 */
export function shownAs(condition: Condition, tool: ToolDefinition, number: number): ToolDefinition {
  const index = `Action ${number}`;
  switch (condition) {
    case 'index only':
      return { name: index, description: '', inputSchema: {} };
    case 'names only':
      return { name: tool.name, description: '', inputSchema: {} };
    case 'descriptions only':
      return { name: index, description: tool.description, inputSchema: {} };
    case 'names and descriptions':
      return { name: tool.name, description: tool.description, inputSchema: {} };
    case 'whole definitions':
      return tool;
  }
}
