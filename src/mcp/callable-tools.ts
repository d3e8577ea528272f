import type { Catalog } from '../catalog/catalog.ts';
import type { CallTarget } from '../gateway/call.ts';
import type { MemberMapping } from '../ledger/merge-definition.ts';
import type { ToolRecord } from '../state/tool-table.ts';
import type { ToolServers } from './tool-servers.ts';

/** A tool that may carry out a call: the one that was named, or a member of the merge that it stands for. */
export interface CallableTool {
  readonly record: ToolRecord;
  readonly target: CallTarget;
  /** How arguments of the merged tool become those of this one; null: they are its own. */
  readonly mapping: MemberMapping | null;
}

/** By name of the parameter. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Returns the tools of servers that can carry out a call of this tool: itself, or the members of the approved merge that is served
 * under its name. None: it came from no server, and none of its members did.
 */
export function callableTools(
  { name: catalog, state }: Pick<Catalog, 'name' | 'state'>,
  record: ToolRecord,
  servers: Pick<ToolServers, 'targetOf'>,
): CallableTool[] {
  const { tools, merges } = state;
  const members = merges.membersOf(record.slot);
  const mappings = merges.approvedOf(record.slot)?.mappings ?? {};
  return (members.length === 0 ? [record.slot] : members).flatMap((slot) => {
    const member = tools.atSlot(slot)!;
    const { name } = member.tool;
    const target = servers.targetOf(catalog, name);
    if (target === null) return [];
    const mapping = members.length === 0 ? null : (mappings[name] ?? IDENTITY);
    return [
      { record: member, target: { ...target, tool: { ...member.tool, name: target.nameThere } }, mapping },
    ];
  });
}

/** Returns the name under which slates show a tool: of a member of an approved merge that of the representative. */
export function shownName({ tools, merges }: Catalog['state'], { slot }: ToolRecord): string {
  return tools.atSlot(merges.representativeOf(slot))!.tool.name;
}

const IDENTITY: MemberMapping = { arguments: {}, absent: [] };

/** Returns the arguments of a member for those of the merged tool; null: the member has no parameter for some. */
export function mappedArguments(
  { arguments: names, absent, fixed }: MemberMapping,
  args: Arguments,
): Arguments | null {
  if (absent.some((name) => args[name] !== undefined)) return null;
  const own = Object.entries(args).map(([name, value]) => [
    Object.hasOwn(names, name) ? names[name] : name,
    value,
  ]);
  return { ...Object.fromEntries(own), ...fixed };
}
