import {
  type Decision,
  type DecisionCarried,
  type ServedInstruction,
  type SlateFormat,
  shownAt,
} from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { threadKey } from '../ledger/unit.ts';
import { assemblyOf, countsTokens, type RouteRequest } from './route-request.ts';

/** What was served before in a session or task, in the order in which it stands in the prompt. */
export interface Carried {
  /** Ids of the newest decisions whose prompt it is, and of those in which more was discovered since; and how many discoveries each has. */
  readonly from: readonly string[];
  readonly discoveries: readonly number[];
  readonly tools: readonly CarriedTool[];
  readonly instructions: readonly CarriedInstruction[];
  /** How often what was named here left no room, so that the prompt starts anew with the tools that are named now; absent: never. */
  readonly restarts?: number;
  /** More steps were asked for at once than are looked at. */
  readonly incomplete?: true;
}

export interface CarriedTool {
  readonly name: string;
  /** Of the definition that was served. */
  readonly hash: string;
  readonly detail: DetailLevel;
}

export interface CarriedInstruction {
  readonly id: string;
  /** Of the text that was served. */
  readonly hash: string;
}

/** Newest decisions of a thread that are looked at: few, and many where some of those were asked for at once. */
const FEW = 4;
const MOST = 64;

/** Returns the key of the thread that a request goes on with; undefined: its assembly is another one. */
export function threadOf(request: RouteRequest): string | undefined {
  if (!countsTokens(request) || assemblyOf(request) !== 'append') return undefined;
  const { sessionId, task, userId, unitId, format } = request;
  return threadKey({ sessionId, task, owner: userId ?? unitId, format });
}

/** @throws StoreUnavailableError; LostNamesError */
export async function readCarried(thread: string, log: DecisionLog): Promise<Carried | undefined> {
  for (const limit of [FEW, MOST]) {
    const heads = await log.ofTask(thread, limit);
    const found = await Promise.all(heads.map(({ id }) => log.get(id)));
    const decisions = found.filter((decision) => decision !== null);
    if (heads.length < limit || isEnough(decisions)) return carriedFrom(decisions);
    if (limit < MOST) continue;
    const carried = carriedFrom(decisions);
    return carried && { ...carried, incomplete: true };
  }
}

/**
 * Returns whether the older decisions of a thread add nothing: what these go on with is among them, and none that is older was made
 * after one that nobody went on with.
 *
 * @param decisions in the order in which they were shown or more was discovered in them, newest first
 */
function isEnough(decisions: readonly Decision[]): boolean {
  const read = new Set(decisions.map(({ id }) => id));
  const covered = coveredBy(decisions);
  const oldest = decisions.at(-1);
  return decisions
    .filter(({ id }) => !covered.has(id))
    .every(
      ({ at, carried }) =>
        shownAt(oldest!) < at && carried !== undefined && carried.from.every((id) => read.has(id)),
    );
}

/** Returns the ids of the decisions that others went on with, and how many discoveries of each they took over. */
function coveredBy(decisions: readonly Decision[]): ReadonlyMap<string, number> {
  const covered = new Map<string, number>();
  for (const { carried } of decisions) {
    for (const [i, id] of carried?.from.entries() ?? []) {
      covered.set(id, Math.max(covered.get(id) ?? 0, carried!.discoveries[i]));
    }
  }
  return covered;
}

/**
 * Returns what decisions of a thread served. Each took over what those before it served, so the newest has it all; of steps that
 * were asked for at once, none has what the others served, and their things come one after the other, the older step's first. What
 * was discovered in a step after another one had gone on with it comes last.
 */
function carriedFrom(decisions: readonly Decision[]): Carried | undefined {
  const covered = coveredBy(decisions);
  const ordered = decisions.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  const newest = ordered.filter(({ id }) => !covered.has(id));
  if (newest.length === 0) return undefined;
  const grown = ordered.filter(({ id, discoveries = [] }) => discoveries.length > (covered.get(id) ?? 0));
  const late = grown
    .filter(({ id }) => covered.has(id))
    .flatMap(({ id, detail, discoveries = [] }) =>
      discoveries.slice(covered.get(id)).map((discovery) => ({ ...discovery, detail })),
    )
    .sort((a, b) => a.at - b.at);
  const tools = new Map<string, CarriedTool>();
  const instructions = new Map<string, CarriedInstruction>();
  for (const { slate, candidates, hashes, detail, carried, instructions: asked } of newest) {
    for (const [at, index] of slate.entries()) {
      const name = candidates[index];
      const tool = { name, hash: hashes[at], detail: carried?.details[at] ?? detail };
      if (!tools.has(name)) tools.set(name, tool);
    }
    for (const { id, hash } of inServedOrder(servedBy(asked), carried)) {
      if (!instructions.has(id)) instructions.set(id, { id, hash });
    }
  }
  for (const { tools: names, hashes, detail } of late) {
    for (const [at, name] of names.entries()) {
      if (!tools.has(name)) tools.set(name, { name, hash: hashes[at], detail });
    }
  }
  const from = [...new Set([...newest, ...grown])];
  return {
    from: from.map(({ id }) => id),
    discoveries: from.map(({ discoveries }) => discoveries?.length ?? 0),
    tools: [...tools.values()],
    instructions: [...instructions.values()],
  };
}

/** Returns what is in a decision of instructions in the order in which they stand: what was served before, then what is new, the safety overlay first. */
export function inServedOrder<T extends { readonly id: string }>(
  served: readonly T[],
  carried: DecisionCarried | undefined,
): T[] {
  const byId = new Map(served.map((one) => [one.id, one]));
  const before = (carried?.instructions ?? []).map((id) => byId.get(id)).filter((one) => one !== undefined);
  return [...new Set([...before, ...served])];
}

/** The safety overlay, then those that were chosen. */
function servedBy(instructions: Decision['instructions']): ServedInstruction[] {
  if (instructions === undefined) return [];
  const { overlay, shown, ids, hashes, tokens } = instructions;
  return [
    ...overlay,
    ...shown.map((index) => ({ id: ids[index], hash: hashes[index], tokens: tokens[index] })),
  ];
}

/** Part of the budget with which a prompt starts anew: the rest is for the step, and for those after it. */
const KEPT_SHARE = 0.5;

/**
 * Returns what a prompt starts anew with: the newest tools that take at most half of the budget together, in their order, without those
 * that do not fit beside newer ones; where that was too much, those that take a quarter, and so on: each time fewer than before.
 * Instructions are chosen anew.
 *
 * @param tokensOf what a tool would take now; undefined: it cannot be served
 */
export function startedAnew(
  { tools, restarts = 0, ...before }: Carried,
  { tokenBudget = 0 }: Pick<RouteRequest, 'tokenBudget'>,
  detail: DetailLevel,
  tokensOf: (tool: string) => number | undefined,
): Carried {
  const kept: CarriedTool[] = [];
  const most = Math.floor(tokenBudget * KEPT_SHARE ** (restarts + 1));
  let room = most;
  for (const tool of tools.toReversed()) {
    const tokens = tokensOf(tool.name);
    if (tokens === undefined) continue;
    if (tokens > room) continue;
    room -= tokens;
    kept.unshift({ ...tool, detail });
  }
  const now = { ...before, tools: kept, instructions: [], restarts: restarts + 1 };
  const isLess = restarts === 0 || kept.length < tools.length || most === 0;
  return isLess ? now : startedAnew(now, { tokenBudget }, detail, tokensOf);
}

/** What a decision under a budget serves, as far as it matters to what it took over. */
type Serving = Pick<Decision, 'format' | 'slate' | 'candidates' | 'hashes' | 'reasons'> & {
  readonly budget: Decision['budget'] | undefined;
  readonly instructions: Decision['instructions'] | undefined;
};

/** Returns what a decision took over from those before it, and in words what it did not. */
export function takenOver(
  before: Carried,
  serving: Serving,
): { readonly carried: DecisionCarried; readonly notes: readonly string[] } {
  const { from, discoveries, incomplete } = before;
  if (before.restarts !== undefined) return { carried: { ...ANEW, from, discoveries }, notes: [RESTARTED] };
  const { format, slate, candidates, hashes, reasons, budget, instructions } = serving;
  const tools = slate
    .filter((_, at) => reasons[at] === 'carried')
    .map((index, at) => ({
      ...{ name: candidates[index], hash: hashes[at], tokens: budget?.tokens[index] ?? 0 },
      served: before.tools.find(({ name }) => name === candidates[index])!,
    }));
  const texts = new Map(servedBy(instructions).map((one) => [one.id, one]));
  const kept = before.instructions
    .filter(({ id }) => texts.has(id))
    .map((served) => ({ ...texts.get(served.id)!, served }));
  const changed = tools.filter(({ hash, served }) => served.hash !== hash).map(({ name }) => name);
  const changedInstructions = kept.filter(({ hash, served }) => served.hash !== hash).map(({ id }) => id);
  const carried: DecisionCarried = {
    ...{ from, discoveries },
    tools: tools.length,
    instructions: kept.map(({ id }) => id),
    details: tools.map(({ served }) => served.detail),
    ...(changed.length > 0 && { changed }),
    ...(changedInstructions.length > 0 && { changedInstructions }),
    read: readTokens(format, before, tools, kept, slate.length > tools.length),
  };
  const [keptTools, keptTexts] = [new Set(tools.map(({ name }) => name)), new Set(carried.instructions)];
  const gone = [
    ...before.tools.filter(({ name }) => !keptTools.has(name)).map(({ name }) => `the tool "${name}"`),
    ...(instructions === undefined ? [] : before.instructions)
      .filter(({ id }) => !keptTexts.has(id))
      .map(({ id }) => `the instruction "${id}"`),
  ];
  const added = (instructions?.overlay ?? []).filter(({ id }) => !keptTexts.has(id));
  const cost = isAdded(format)
    ? 'add it to the conversation as it is now'
    : 'what comes after it is in no prompt cache any more';
  const notes = [
    ...(incomplete ? [INCOMPLETE] : []),
    ...gone.map(
      (what) =>
        `Served before, and not any more: ${what}, which was removed, is excluded or cannot be used now`,
    ),
    ...[...changed, ...changedInstructions].map((name) => `Changed since it was served: "${name}"; ${cost}`),
    ...added.map(
      ({ id }) =>
        `New in this session or task: the safety instruction "${id}"; put it into the prompt with what else is new`,
    ),
  ];
  return { carried, notes };
}

/** What is new comes into the conversation; in the other formats tools stand before everything else. */
function isAdded(format: SlateFormat): boolean {
  return (
    format === 'anthropic-tool-addition' ||
    format === 'anthropic-tool-reference' ||
    format === 'openai-tool-search-output'
  );
}

/** Returns what a prompt cache has: in a conversation all that is as it was, else all up to the first text that is not. */
function readTokens(
  format: SlateFormat,
  before: Carried,
  tools: readonly Taken[],
  instructions: readonly Taken[],
  hasNewTools: boolean,
): number {
  const sum = (taken: readonly Taken[]) => taken.reduce((total, { tokens }) => total + tokens, 0);
  const isSame = ({ hash, served }: Taken): boolean => served.hash === hash;
  if (isAdded(format)) return sum([...tools, ...instructions].filter(isSame));
  const beginning = (taken: readonly Taken[], all: readonly { readonly hash: string }[]): Taken[] => {
    const other = taken.findIndex((one, at) => all[at] !== one.served || !isSame(one));
    return taken.slice(0, other < 0 ? taken.length : other);
  };
  const sameTools = beginning(tools, before.tools);
  const isWhole = sameTools.length === before.tools.length && !hasNewTools;
  return sum([...sameTools, ...(isWhole ? beginning(instructions, before.instructions) : [])]);
}

const INCOMPLETE = `More than ${MOST} steps of this session or task were asked for at once, and some of what they served may be missing here: ask for fewer at once, or give each its own \`sessionId\``;

interface Taken {
  readonly hash: string;
  readonly tokens: number;
  readonly served: { readonly hash: string };
}

/** Nothing is where it was. */
const ANEW = { tools: 0, instructions: [], details: [], read: 0, restarted: true } as const;

const RESTARTED =
  'What was served before in this session or task leaves no room for this step within `tokenBudget`: the prompt starts anew with what is served here. Replace it.';
