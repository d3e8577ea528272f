import { canonicalJson } from '../ledger/definition-hash.ts';
import type { MemberMapping } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Steps } from '../scheduling/slices.ts';
import { matchParameters } from './match-parameters.ts';
import {
  isObject,
  type Parameter,
  type PreparedParameter,
  parametersOf,
  prepare,
} from './parameter-likeness.ts';
import {
  listed,
  MOST_EXAMPLES,
  MOST_TAGS,
  mappingsOf,
  sameInAll,
  schemaOf,
  type UnitedParameter,
  uniteAnnotations,
  uniteDescriptions,
  withoutEmpty,
} from './united-parts.ts';

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

/** What a model can be expected to fill in; a tool alone may have more. */
const MOST_PARAMETERS = 100;

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
