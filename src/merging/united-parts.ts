import { canonicalJson } from '../ledger/definition-hash.ts';
import type { MemberMapping } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { Steps } from '../scheduling/slices.ts';
import type { Parameter, PreparedParameter } from './parameter-likeness.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A united description has at most so many characters beyond those of the longest one. */
const MOST_ADDED = 400;

/** What `PUT …/tools` takes. */
export const MOST_TAGS = 64;

export const MOST_EXAMPLES = 100;

export interface UnitedParameter {
  readonly at: number;
  /** Under the name and with the schema of the first that has it; required if the representative requires it. */
  readonly parameter: PreparedParameter;
  /** How each member that takes it has it, by the name of the member. */
  readonly takers: Map<string, Parameter>;
}

export function schemaOf(all: readonly ToolDefinition[], united: readonly UnitedParameter[]): JsonObject {
  const [first] = all;
  const byAll = new Set(
    united.filter(({ takers }) => all.every(({ name }) => takers.get(name)?.required === true)),
  );
  const isContent = ({ name }: ToolDefinition): boolean =>
    united.every((one) => one.takers.get(name)?.required !== true || byAll.has(one));
  const required = all.some(isContent)
    ? [...byAll]
    : united.filter(({ takers }) => takers.get(first.name)?.required);
  const { required: _, ...schema } = first.inputSchema;
  return {
    ...schema,
    properties: Object.fromEntries(united.map(({ parameter: { name, schema: own } }) => [name, own])),
    ...(required.length > 0 ? { required: required.map(({ parameter: { name } }) => name) } : {}),
  };
}

export function mappingsOf(
  all: readonly ToolDefinition[],
  united: readonly UnitedParameter[],
  fixed: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
): Record<string, MemberMapping> {
  return Object.fromEntries(
    all.map((member): [string, MemberMapping] => {
      const taken = united.flatMap(({ parameter: { name }, takers }) => {
        const own = takers.get(member.name)?.name;
        return own === undefined || own === name ? [] : [[name, own] as const];
      });
      const absent = united
        .filter(({ takers }) => !takers.has(member.name))
        .map(({ parameter: { name } }) => name);
      const always = fixed.get(member.name);
      return [
        member.name,
        { arguments: Object.fromEntries(taken), ...(always === undefined ? {} : { fixed: always }), absent },
      ];
    }),
  );
}

/** The representative's description, and from the others the sentences with words that nothing before them has. */
export function* uniteDescriptions(all: readonly ToolDefinition[]): Steps<string> {
  const described = all.filter(({ description }) => description.trim() !== '');
  if (described.length === 0) return '';
  const [{ description: head }, ...rest] = described;
  const known = new Set(tokenise(head));
  const added: string[] = [];
  let room = MOST_ADDED;
  for (const { description } of rest) {
    yield;
    for (const sentence of description.split(/(?<=[.!?])\s+|\n+/)) {
      const terms = tokenise(sentence);
      if (sentence.length + 1 > room || !terms.some((term) => !known.has(term))) continue;
      for (const term of terms) known.add(term);
      added.push(sentence.trim());
      room -= sentence.length + 1;
    }
  }
  return added.length === 0 ? head : `${head} ${added.join(' ')}`;
}

/** What holds for whichever member is called: it only reads if all do, it may destroy if one may. Other hints only where all have them. */
export function uniteAnnotations(all: readonly ToolDefinition[]): JsonObject | undefined {
  const [first] = all;
  if (sameInAll(all, ({ annotations }) => annotations)) return first.annotations;
  const united: Record<string, unknown> = {};
  for (const [hint, value] of Object.entries(first.annotations ?? {})) {
    if (sameInAll(all, ({ annotations }) => annotations?.[hint])) united[hint] = value;
  }
  const some = (hint: string): boolean => all.some(({ annotations }) => annotations?.[hint] === true);
  for (const hint of ['destructiveHint', 'openWorldHint']) if (some(hint)) united[hint] = true;
  return united;
}

/** The items of all members in order, each once. */
export function listed(
  all: readonly ToolDefinition[],
  of: (tool: ToolDefinition) => readonly string[] | undefined,
  most: number,
): string[] | undefined {
  const items = [...new Set(all.flatMap((tool) => of(tool) ?? []))];
  return items.length === 0 ? undefined : items.slice(0, most);
}

/** Whether all tools have the same in this, as canonical JSON. */
export function sameInAll(all: readonly ToolDefinition[], of: (tool: ToolDefinition) => unknown): boolean {
  const first = canonicalJson(of(all[0]));
  return all.every((tool) => canonicalJson(of(tool)) === first);
}

export function withoutEmpty(tool: ToolDefinition): ToolDefinition {
  return Object.fromEntries(
    Object.entries(tool).filter(([, value]) => value !== undefined),
  ) as unknown as ToolDefinition;
}
