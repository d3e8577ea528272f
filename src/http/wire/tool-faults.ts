import { plainWords } from '../../../config/plain-words.ts';
import type { ToolDefinition } from '../../ledger/tool-definition.ts';
import { elementFaults } from '../json-body.ts';
import { toolSchema } from './tool.ts';

/** Returns what the service would say of a tool that it refuses, for those that come from elsewhere; null: it takes the tool. */
export function toolFaults(tool: ToolDefinition): string | null {
  const faults = elementFaults(tool);
  const issues =
    faults.length > 0 ? [] : (toolSchema.safeParse(tool, { error: plainWords }).error?.issues ?? []);
  for (const { path, message } of issues) faults.push({ path: path.join('.'), message });
  return faults.length === 0 ? null : faults.map(({ path, message }) => `${path} ${message}`).join('; ');
}
