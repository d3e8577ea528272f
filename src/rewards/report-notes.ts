import type { Catalog } from '../catalog/catalog.ts';
import type { DecisionHead } from '../decisions/decision.ts';
import { providerName } from '../ledger/provider-name.ts';
import type { DecisionReport } from './reward-report.ts';

const NO_CONTEXT =
  'Nothing was learned from `context`: the request named no user (`userId`) who had items, or wanted none of them (`maxContext: 0`).';

/**
 * Returns the name of the tool that a report is about, which may have the provider name; null: it is about the decision. The slate
 * decides: another tool may have been put since that has the name under which this one was shown.
 */
export function toolOf(
  { tool }: DecisionReport,
  { shown }: DecisionHead,
  { state: { tools } }: Catalog,
): string | null {
  if (tool === undefined) return null;
  const inSlate = shown.find((name) => providerName(name) === tool) ?? shown.find((name) => name === tool);
  return inSlate ?? tools.nameOf(tool);
}

/**
 * Whether a decision showed a tool, itself or a merge that it was a member of then, whatever is merged now.
 * @param tool its name, or its provider name
 */
export function hasShown(
  { shown, merged = {} }: DecisionHead,
  { merges, tools }: Catalog['state'],
  tool: string,
): boolean {
  if (shown.some((name) => name === tool || providerName(name) === tool)) return true;
  return Object.values(merged).some((id) => merges.has(id, tools.nameOf(tool)));
}

/** @param tool null: none was named @param value of its outcome */
export function noteOnTool(
  tool: string | null,
  value: number,
  decision: DecisionHead,
  { name, state }: Catalog,
): string | undefined {
  if (tool === null) {
    return value > 0
      ? 'No tool was named: this is counted, but teaches nothing about tools. Name the tool that helped.'
      : 'No tool was named: the decision closes, and every shown tool counts as not helpful.';
  }
  if (hasShown(decision, state, tool)) return undefined;
  return state.tools.find(tool) === undefined
    ? `"${tool}" is no tool of catalog "${name}": this will be rejected. Send the name as the slate has it.`
    : `"${tool}" was not in the slate; its outcome is learned as a call, with a fifth of the weight.`;
}

export function noteOnContext(
  items: DecisionReport['context'],
  { hasContext }: DecisionHead,
): string | undefined {
  return items !== undefined && items.length > 0 && !hasContext ? NO_CONTEXT : undefined;
}

/** Returns all notes as one; undefined: there are none. */
export function joinedNotes(...notes: readonly (string | undefined)[]): string | undefined {
  const said = notes.filter((note) => note !== undefined);
  return said.length === 0 ? undefined : said.join(' ');
}
