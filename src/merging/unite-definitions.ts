import { canonicalJson } from '../ledger/definition-hash.ts';
import type { MemberMapping } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { Steps } from '../scheduling/slices.ts';
import { matchParameters } from './match-parameters.ts';
import {
  isObject,
  type Parameter,
  type PreparedParameter,
  parametersOf,
  prepare,
} from './parameter-likeness.ts';

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
/** What a model can be expected to fill in; a tool alone may have more. */
const MOST_PARAMETERS = 100;
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
export function* unite(members: readonly ToolDefinition[], representative: string): Steps<UnitedDefinition> {
  const first = members.find(({ name }) => name === representative);
  if (first === undefined) throw new RangeError(`the representative "${representative}" is not a member`);
  const union = new Union(first);
  const others = members.filter((member) => member !== first);
  for (const member of others.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))) {
    const conflict = yield* union.add(member);
    if (conflict !== null) return { conflict };
  }
  return yield* union.definition();
}

/** A tool as unions see it; read once, however many of them it is tried in. */
export interface PreparedTool {
  /** Equal for tools whose input schemas differ in texts alone. */
  readonly shape: string;
  readonly parameters: readonly PreparedParameter[];
  /** Why it can be one with tools of the same shape only, as a sentence; null: it can be with others. */
  readonly closed: string | null;
}

const preparedTools = new WeakMap<ToolDefinition, PreparedTool>();

export function prepared(tool: ToolDefinition): PreparedTool {
  const known = preparedTools.get(tool);
  if (known !== undefined) return known;
  const parameters = parametersOf(tool.inputSchema);
  const count = parameters?.length ?? 0;
  const closed =
    parameters === null
      ? `The schema of ${tool.name} cannot be compared with others.`
      : count > MOST_PARAMETERS
        ? `${tool.name} has ${count} parameters, and tools that are united have at most ${MOST_PARAMETERS}.`
        : null;
  const made = {
    shape: canonicalJson(withoutTexts(tool.inputSchema)),
    parameters: closed === null ? (parameters ?? []).map(prepare) : [],
    closed,
  };
  preparedTools.set(tool, made);
  return made;
}

interface UnitedParameter {
  readonly at: number;
  /** Under the name and with the schema of the first that has it; required if the representative requires it. */
  readonly parameter: PreparedParameter;
  /** How each member that takes it has it, by the name of the member. */
  readonly takers: Map<string, Parameter>;
}

/** What a member takes of the united parameters, in their order. */
type Taken = readonly (readonly [UnitedParameter, Parameter])[];

/** Tools that can be called as one, to which others are added one by one. */
export class Union {
  readonly #members: ToolDefinition[];
  readonly #united: UnitedParameter[] = [];
  /** Names of the united parameters, without case and signs. */
  readonly #names = new Set<string>();
  /** A member, and all that it takes, for every way to take and require some: a thousand copies are compared once. */
  readonly #kinds = new Map<string, { readonly name: string; readonly taken: Taken }>();
  readonly #fixed = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #guesses: string[] = [];
  /** The input schemas of all members differ in texts alone. */
  #isOneShape = true;
  /** Why tools of another shape cannot be added; null: they can. */
  #closed: string | null;

  /** @param first the representative: its parameters keep their names and schemas */
  constructor(first: ToolDefinition) {
    this.#members = [first];
    const { parameters, closed } = prepared(first);
    this.#closed = closed;
    this.#take(
      first,
      parameters.map((parameter, at) => [{ at, parameter, takers: new Map() }, parameter]),
    );
  }

  /** Adds a tool. Returns null, or a sentence that says why it cannot be one with the others; then nothing has changed. */
  *add(member: ToolDefinition): Steps<string | null> {
    const isSame = this.#isOneShape && prepared(member).shape === prepared(this.#members[0]).shape;
    const conflict = this.#closed ?? (yield* this.#match(member));
    if (conflict !== null && !isSame) return conflict;
    this.#closed = conflict;
    this.#isOneShape = isSame;
    this.#members.push(member);
    return null;
  }

  *definition(): Steps<Exclude<UnitedDefinition, { readonly conflict: string }>> {
    const [all, united] = [this.#members, this.#united];
    const [first] = all;
    const inputSchema = this.#isOneShape ? first.inputSchema : schemaOf(all, united);
    yield;
    const mappings = this.#isOneShape
      ? Object.fromEntries(all.map(({ name }) => [name, { arguments: {}, absent: [] }]))
      : mappingsOf(all, united, this.#fixed);
    yield;
    const { outputSchema, execution, ...kept } = withoutEmpty({
      ...first,
      description: yield* uniteDescriptions(all),
      inputSchema,
      tags: listed(all, ({ tags }) => tags, MOST_TAGS),
      examples: listed(all, ({ examples }) => examples, MOST_EXAMPLES),
      annotations: uniteAnnotations(all),
      replaces: undefined,
    });
    yield;
    const definition: ToolDefinition = {
      ...kept,
      ...(sameInAll(all, (tool) => tool.outputSchema) ? { outputSchema } : {}),
      ...(sameInAll(all, (tool) => tool.execution) ? { execution } : {}),
    };
    const guesses = this.#isOneShape ? [] : [...this.#guesses];
    return { definition: withoutEmpty(definition), mappings, guesses };
  }

  /** Takes the parameters of a member in, unless that is a conflict. */
  *#match(member: ToolDefinition): Steps<string | null> {
    const { parameters, closed } = prepared(member);
    if (closed !== null) return closed;
    const [{ name: first }] = this.#members;
    const united = this.#united.map(({ parameter }) => parameter);
    const { pairs, guess } = yield* matchParameters(united, parameters, [first, member.name]);
    const taken = Array.from(pairs, ([a, b]) => [this.#united[a], parameters[b]] as const);
    taken.sort(([a], [b]) => a.at - b.at);
    const matched = new Set(pairs.values());
    const names = new Set<string>();
    const fixed: [string, unknown][] = [];
    for (const [at, parameter] of parameters.entries()) {
      if (matched.has(at)) continue;
      const only = onlyValue(parameter.schema);
      const name = plain(parameter.name);
      if (parameter.required && only !== undefined) {
        fixed.push([parameter.name, only.value]);
      } else if (!this.#names.has(name) && !names.has(name) && !hasReference(parameter.schema)) {
        const added = { ...parameter, required: false };
        taken.push([{ at: united.length + names.size, parameter: added, takers: new Map() }, parameter]);
        names.add(name);
      } else if (parameter.required) {
        return `${first} and ${member.name} both have a parameter ${parameter.name}, and no value fits both.`;
      }
    }
    const count = united.length + names.size;
    if (count > MOST_PARAMETERS)
      return `With ${member.name} the tool would have ${count} parameters, and may have at most ${MOST_PARAMETERS}.`;
    for (const kind of this.#kinds.values()) {
      yield;
      const [ofKind, ofMember] = [lacking(kind.taken, taken), lacking(taken, kind.taken)];
      if (ofKind === null || ofMember === null) continue;
      return `${kind.name} requires ${ofKind} and ${member.name} requires ${ofMember}, which the other does not take.`;
    }
    if (guess !== null)
      this.#guesses.push(`That ${guess[1]} of ${member.name} is ${guess[0]} of ${first} is a guess.`);
    if (fixed.length > 0) this.#fixed.set(member.name, Object.fromEntries(fixed));
    this.#take(member, taken);
    return null;
  }

  #take({ name }: ToolDefinition, taken: Taken): void {
    for (const [one, parameter] of taken) {
      one.takers.set(name, parameter);
      if (one.at < this.#united.length) continue;
      this.#united.push(one);
      this.#names.add(plain(one.parameter.name));
    }
    const kind = taken.map(([{ at }, { required }]) => `${at}${required ? '!' : '?'}`).join('');
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, { name, taken });
  }
}

/** The name of the first parameter that one requires and the other does not take. Two that each have such a one are called for different things. */
function lacking(a: Taken, b: Taken): string | null {
  const others = new Set(b.map(([one]) => one));
  return a.find(([one, { required }]) => required && !others.has(one))?.[1].name ?? null;
}

function schemaOf(all: readonly ToolDefinition[], united: readonly UnitedParameter[]): JsonObject {
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

function mappingsOf(
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
function* uniteDescriptions(all: readonly ToolDefinition[]): Steps<string> {
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
function withoutTexts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutTexts);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !((key === 'description' || key === 'title') && typeof value === 'string'))
      .map(([key, value]) => [key, withoutTexts(value)]),
  );
}

/** Whether all tools have the same in this, as canonical JSON. */
export function sameInAll(all: readonly ToolDefinition[], of: (tool: ToolDefinition) => unknown): boolean {
  const first = canonicalJson(of(all[0]));
  return all.every((tool) => canonicalJson(of(tool)) === first);
}

function withoutEmpty(tool: ToolDefinition): ToolDefinition {
  return Object.fromEntries(
    Object.entries(tool).filter(([, value]) => value !== undefined),
  ) as unknown as ToolDefinition;
}
