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
  return (members.length === 0 ? [record.slot] : members).flatMap((slot) => {
    const member = tools.atSlot(slot)!;
    const { name } = member.tool;
    const target = servers.targetOf(catalog, name);
    if (target === null) return [];
    const mapping = members.length === 0 ? null : merges.approvedOf(slot)!.mappings[name];
    return [
      { record: member, target: { ...target, tool: { ...member.tool, name: target.nameThere } }, mapping },
    ];
  });
}

/** Returns the name under which slates show a tool: of a member of an approved merge that of the representative. */
export function shownName({ tools, merges }: Catalog['state'], { slot }: ToolRecord): string {
  return tools.atSlot(merges.representativeOf(slot))!.tool.name;
}

/**
 * Returns the names of the arguments of the merged tool that a member does not take: it has no parameter for them, or another argument
 * is already to go to the parameter of that name.
 */
export function untakenArguments(
  { arguments: names, absent, fixed = {} }: MemberMapping,
  args: Arguments,
): string[] {
  const given = Object.keys(args).filter((name) => args[name] !== undefined);
  const taken = new Set(Object.keys(fixed));
  for (const name of given) if (Object.hasOwn(names, name)) taken.add(names[name]);
  return given.filter((name) => absent.includes(name) || (!Object.hasOwn(names, name) && taken.has(name)));
}

/** Returns the arguments of a member for those of the merged tool; null: the member does not take all of them. */
export function mappedArguments(mapping: MemberMapping, args: Arguments): Arguments | null {
  if (untakenArguments(mapping, args).length > 0) return null;
  const { arguments: names, fixed } = mapping;
  const own = Object.entries(args).map(([name, value]) => [
    Object.hasOwn(names, name) ? names[name] : name,
    value,
  ]);
  return { ...Object.fromEntries(own), ...fixed };
}
