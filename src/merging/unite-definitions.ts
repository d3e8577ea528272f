import { canonicalJson } from '../catalog/definition-hash.ts';
import type { MemberMapping } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { isObject, matchParameters, type Parameter, parametersOf } from './match-parameters.ts';

export type UnitedDefinition =
  | {
      /** The merged tool, under the name of the representative, whose parameters keep their names and schemas. */
      readonly definition: ToolDefinition;
      /** How a call of it becomes a call of each member, by name. */
      readonly mappings: Readonly<Record<string, MemberMapping>>;
      /** Pairs of parameters that may not mean the same, each as a sentence. */
      readonly guesses: readonly string[];
    }
  /** Why they cannot be one tool, as a sentence. */
  | { readonly conflict: string };

type JsonObject = Readonly<Record<string, unknown>>;

/** A united description has at most so many characters beyond those of the longest one. */
const MOST_ADDED = 400;
/** What `PUT …/tools` takes. */
const MOST_TAGS = 64;
const MOST_EXAMPLES = 100;

/** Returns the name by which merged tools are called: the shortest, of equals the first in order (ToolScope, section 3.2). */
export function representativeOf(names: readonly string[]): string {
  return names.reduce((best, name) =>
    name.length < best.length || (name.length === best.length && name < best) ? name : best,
  );
}

/**
 * Unites tools that do the same into one definition (ToolScope, section 3.2, "Toolset Update", without a model). Whoever calls the
 * representative as before is understood as before: its parameters stay as they are. What only others take is added, optional. Required
 * is what every member requires; if no member is content with that, what the representative requires. It has no text that no
 * member has.
 */
export function unite(members: readonly ToolDefinition[], representative: string): UnitedDefinition {
  const all = inOrder(members, representative);
  const [first] = all;
  const inputs = uniteInputs(members, representative);
  if ('conflict' in inputs) return inputs;
  const { outputSchema, execution, ...kept } = withoutEmpty({
    ...first,
    description: uniteDescriptions(all),
    inputSchema: inputs.schema,
    tags: listed(all, ({ tags }) => tags, MOST_TAGS),
    examples: listed(all, ({ examples }) => examples, MOST_EXAMPLES),
    annotations: uniteAnnotations(all),
    replaces: undefined,
  });
  const definition: ToolDefinition = {
    ...kept,
    ...(sameInAll(all, (tool) => tool.outputSchema) ? { outputSchema } : {}),
    ...(sameInAll(all, (tool) => tool.execution) ? { execution } : {}),
  };
  return { definition: withoutEmpty(definition), mappings: inputs.mappings, guesses: inputs.guesses };
}

interface UnitedInputs {
  readonly schema: JsonObject;
  readonly mappings: Readonly<Record<string, MemberMapping>>;
  readonly guesses: readonly string[];
}

interface UnitedParameter extends Parameter {
  /** Its name at each member that takes it. */
  readonly takers: Map<string, { readonly name: string; readonly required: boolean }>;
}

/** The representative, and then the others by name. */
function inOrder(members: readonly ToolDefinition[], representative: string): ToolDefinition[] {
  const first = members.find(({ name }) => name === representative);
  if (first === undefined) throw new RangeError(`the representative "${representative}" is not a member`);
  const others = members.filter((member) => member !== first);
  return [first, ...others.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))];
}

/** Unites the parameters alone: whether that can be does not depend on the rest. */
export function uniteInputs(
  members: readonly ToolDefinition[],
  representative: string,
): UnitedInputs | { readonly conflict: string } {
  const all = inOrder(members, representative);
  const [first, ...others] = all;
  if (sameInAll(all, ({ inputSchema }) => withoutTexts(inputSchema))) {
    const mappings = Object.fromEntries(all.map(({ name }) => [name, { arguments: {}, absent: [] }]));
    return { schema: first.inputSchema, mappings, guesses: [] };
  }
  const own = parametersOf(first.inputSchema);
  if (own === null) return { conflict: `The schema of ${first.name} cannot be compared with others.` };
  const united: UnitedParameter[] = own.map((parameter) => ({
    ...parameter,
    takers: new Map([[first.name, parameter]]),
  }));
  const fixed = new Map<string, Record<string, unknown>>();
  const guesses: string[] = [];
  for (const member of others) {
    const parameters = parametersOf(member.inputSchema);
    if (parameters === null)
      return { conflict: `The schema of ${member.name} cannot be compared with others.` };
    const { pairs: matched, guess } = matchParameters(united, parameters, [first.name, member.name]);
    if (guess !== null)
      guesses.push(`That ${guess[1]} of ${member.name} is ${guess[0]} of ${first.name} is a guess.`);
    for (const [a, b] of matched) united[a].takers.set(member.name, parameters[b]);
    const left = new Set(parameters.keys());
    for (const b of matched.values()) left.delete(b);
    for (const at of left) {
      const parameter = parameters[at];
      const only = onlyValue(parameter.schema);
      const isFree = !united.some(({ name }) => plain(name) === plain(parameter.name));
      if (parameter.required && only !== undefined) {
        fixed.set(member.name, { ...fixed.get(member.name), [parameter.name]: only.value });
      } else if (isFree && !hasReference(parameter.schema)) {
        united.push({ ...parameter, required: false, takers: new Map([[member.name, parameter]]) });
      } else if (parameter.required) {
        return {
          conflict: `${first.name} and ${member.name} both have a parameter ${parameter.name}, and no value fits both.`,
        };
      }
    }
  }
  const conflict = conflictOf(all, united);
  if (conflict !== null) return { conflict };
  return { schema: schemaOf(first, all, united), mappings: mappingsOf(all, united, fixed), guesses };
}

/** Two members each of which requires what the other does not take are called for different things. */
function conflictOf(all: readonly ToolDefinition[], united: readonly UnitedParameter[]): string | null {
  const lacking = (a: ToolDefinition, b: ToolDefinition): string | undefined =>
    united
      .find(({ takers }) => takers.get(a.name)?.required === true && !takers.has(b.name))
      ?.takers.get(a.name)?.name;
  // Whatever requires the same as another need not be compared twice: a thousand copies are one.
  const kinds = new Map<string, ToolDefinition>();
  for (const member of all) {
    const shape = united.map(({ takers }) => {
      const taken = takers.get(member.name);
      return taken === undefined ? '-' : taken.required ? '!' : '?';
    });
    if (!kinds.has(shape.join(''))) kinds.set(shape.join(''), member);
  }
  const distinct = [...kinds.values()];
  for (const [at, a] of distinct.entries()) {
    for (const b of distinct.slice(at + 1)) {
      const [ofA, ofB] = [lacking(a, b), lacking(b, a)];
      if (ofA === undefined || ofB === undefined) continue;
      return `${a.name} requires ${ofA} and ${b.name} requires ${ofB}, which the other does not take.`;
    }
  }
  return null;
}

function schemaOf(
  first: ToolDefinition,
  all: readonly ToolDefinition[],
  united: readonly UnitedParameter[],
): JsonObject {
  const byAll = united.filter(({ takers }) => all.every(({ name }) => takers.get(name)?.required === true));
  const isContent = ({ name }: ToolDefinition): boolean =>
    united.every(({ takers }, at) => takers.get(name)?.required !== true || byAll.includes(united[at]));
  const required = all.some(isContent)
    ? byAll
    : united.filter(({ takers }) => takers.get(first.name)?.required);
  const { required: _, ...schema } = first.inputSchema;
  return {
    ...schema,
    properties: Object.fromEntries(united.map(({ name, schema: own }) => [name, own])),
    ...(required.length > 0 ? { required: required.map(({ name }) => name) } : {}),
  };
}

function mappingsOf(
  all: readonly ToolDefinition[],
  united: readonly UnitedParameter[],
  fixed: ReadonlyMap<string, Record<string, unknown>>,
): Record<string, MemberMapping> {
  return Object.fromEntries(
    all.map((member): [string, MemberMapping] => {
      const taken = united.flatMap(({ name, takers }) => {
        const own = takers.get(member.name)?.name;
        return own === undefined || own === name ? [] : [[name, own] as const];
      });
      const absent = united.filter(({ takers }) => !takers.has(member.name)).map(({ name }) => name);
      const always = fixed.get(member.name);
      return [
        member.name,
        { arguments: Object.fromEntries(taken), ...(always === undefined ? {} : { fixed: always }), absent },
      ];
    }),
  );
}

/** The representative's description, and from the others the sentences with words that nothing before them has. */
function uniteDescriptions(all: readonly ToolDefinition[]): string {
  const described = all.filter(({ description }) => description.trim() !== '');
  if (described.length === 0) return '';
  const [{ description: head }, ...rest] = described;
  const known = new Set(tokenise(head));
  const added: string[] = [];
  let room = MOST_ADDED;
  for (const { description } of rest) {
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
function uniteAnnotations(all: readonly ToolDefinition[]): JsonObject | undefined {
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
function listed(
  all: readonly ToolDefinition[],
  of: (tool: ToolDefinition) => readonly string[] | undefined,
  most: number,
): string[] | undefined {
  const items = [...new Set(all.flatMap((tool) => of(tool) ?? []))];
  return items.length === 0 ? undefined : items.slice(0, most);
}

/** The one value that a member accepts or takes by itself; undefined: there is none. */
function onlyValue(schema: unknown): { readonly value: unknown } | undefined {
  if (!isObject(schema)) return undefined;
  if (Object.hasOwn(schema, 'default')) return { value: schema.default };
  if (Object.hasOwn(schema, 'const')) return { value: schema.const };
  return Array.isArray(schema.enum) && schema.enum.length === 1 ? { value: schema.enum[0] } : undefined;
}

function hasReference(schema: unknown): boolean {
  return JSON.stringify(schema)?.includes('"$ref"') ?? false;
}

/** A name without its case and signs. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

/** A schema without what only people read. */
export function withoutTexts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutTexts);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !((key === 'description' || key === 'title') && typeof value === 'string'))
      .map(([key, value]) => [key, withoutTexts(value)]),
  );
}

function sameInAll(all: readonly ToolDefinition[], of: (tool: ToolDefinition) => unknown): boolean {
  const first = canonicalJson(of(all[0]));
  return all.every((tool) => canonicalJson(of(tool)) === first);
}

function withoutEmpty(tool: ToolDefinition): ToolDefinition {
  return Object.fromEntries(
    Object.entries(tool).filter(([, value]) => value !== undefined),
  ) as unknown as ToolDefinition;
}
