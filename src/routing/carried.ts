import type { Decision, DecisionCarried } from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import { threadKey } from '../ledger/unit.ts';
import { assemblyOf, countsTokens, type RouteRequest } from './route-request.ts';

/** What was served before in a session or task, in the order in which it stands in the prompt. */
export interface Carried {
  /** Ids of the newest decisions whose prompt it is. */
  readonly from: readonly string[];
  readonly tools: readonly CarriedTool[];
  readonly instructions: readonly CarriedInstruction[];
  /** All of it left no room: the prompt starts anew with the tools that are named here. */
  readonly restarted?: true;
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

/** Newest decisions of a thread that are looked at: so many steps may have been asked for at once. */
const NEWEST = 4;

/** Returns the key of the thread that a request goes on with; undefined: its assembly is another one. */
export function threadOf(request: RouteRequest): string | undefined {
  if (!countsTokens(request) || assemblyOf(request) !== 'append') return undefined;
  const { sessionId, task, userId, unitId, format } = request;
  return threadKey({ sessionId, task, owner: userId ?? unitId, format });
}

/** @throws StoreUnavailableError; LostNamesError */
export async function readCarried(thread: string, log: DecisionLog): Promise<Carried | undefined> {
  const heads = await log.ofTask(thread, NEWEST);
  const decisions = await Promise.all(heads.map(({ id }) => log.get(id)));
  return carriedFrom(decisions.filter((decision) => decision !== null));
}

/**
 * Returns what decisions of a thread served. Each took over what those before it served, so the newest has it all; of steps that
 * were asked for at once, none has what the others served, and their things come one after the other, the older step's first.
 *
 * @param decisions newest first
 */
export function carriedFrom(decisions: readonly Decision[]): Carried | undefined {
  const covered = new Set<string>();
  const newest: Decision[] = [];
  for (const decision of decisions) {
    if (!covered.has(decision.id)) newest.push(decision);
    for (const id of decision.carried?.from ?? []) covered.add(id);
  }
  if (newest.length === 0) return undefined;
  newest.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  const tools = new Map<string, CarriedTool>();
  const instructions = new Map<string, CarriedInstruction>();
  for (const { slate, candidates, hashes, detail, carried, instructions: asked } of newest) {
    for (const [at, index] of slate.entries()) {
      const name = candidates[index];
      const tool = { name, hash: hashes[at], detail: carried?.details[at] ?? detail };
      if (!tools.has(name)) tools.set(name, tool);
    }
    for (const index of asked?.shown ?? []) {
      const id = asked!.ids[index];
      if (!instructions.has(id)) instructions.set(id, { id, hash: asked!.hashes[index] });
    }
  }
  return {
    from: newest.map(({ id }) => id),
    tools: [...tools.values()],
    instructions: [...instructions.values()],
  };
}

/** Part of the budget with which a prompt starts anew: the rest is for the step, and for those after it. */
const KEPT_SHARE = 0.5;

/**
 * Returns what a prompt starts anew with: the newest tools that take at most half of the budget, in their order; nothing where that
 * was too much, too. Instructions are chosen anew.
 *
 * @param tokensOf what a tool would take now; undefined: it cannot be served
 */
export function startedAnew(
  { from, tools, restarted }: Carried,
  { tokenBudget = 0 }: Pick<RouteRequest, 'tokenBudget'>,
  detail: DetailLevel,
  tokensOf: (tool: string) => number | undefined,
): Carried {
  const kept: CarriedTool[] = [];
  let room = restarted ? 0 : Math.floor(tokenBudget * KEPT_SHARE);
  for (const tool of tools.toReversed()) {
    const tokens = tokensOf(tool.name);
    if (tokens === undefined) continue;
    room -= tokens;
    if (room < 0) break;
    kept.unshift({ ...tool, detail });
  }
  return { from, tools: kept, instructions: [], restarted: true };
}

/** What a decision under a budget serves, as far as it matters to what it took over. */
type Serving = Pick<Decision, 'slate' | 'candidates' | 'hashes' | 'reasons'> & {
  readonly budget: Decision['budget'] | undefined;
  readonly instructions: Decision['instructions'] | undefined;
};

/** Returns what a decision took over from those before it, and in words what it did not. */
export function takenOver(
  before: Carried,
  serving: Serving,
): { readonly carried: DecisionCarried; readonly notes: readonly string[] } {
  if (before.restarted) return { carried: { ...ANEW, from: before.from }, notes: [RESTARTED] };
  const { slate, candidates, hashes, reasons, budget, instructions } = serving;
  const tools = slate
    .filter((_, at) => reasons[at] === 'carried')
    .map((index, at) => ({
      ...{ name: candidates[index], hash: hashes[at], tokens: budget?.tokens[index] ?? 0 },
      served: before.tools.find(({ name }) => name === candidates[index]),
    }));
  const texts = (instructions?.shown ?? []).map((index) => ({
    ...{ name: instructions!.ids[index], hash: instructions!.hashes[index] },
    ...{ tokens: instructions!.tokens[index] },
    served: before.instructions.find(({ id }) => id === instructions!.ids[index]),
  }));
  const keptTexts = texts.slice(
    0,
    firstIndex(texts, ({ served }) => served === undefined),
  );
  const changed = [...tools, ...keptTexts].filter(({ hash, served }) => served?.hash !== hash);
  const carried: DecisionCarried = {
    from: before.from,
    tools: tools.length,
    instructions: keptTexts.length,
    details: tools.map(({ served }) => served!.detail),
    ...(changed.length > 0 && {
      changed: changed.map(({ name }) => name),
      rewritten: rewritten(tools) + rewritten(keptTexts),
    }),
  };
  const kept = new Set([...tools, ...texts].map(({ name }) => name));
  const overlay = new Set(instructions?.overlay.map(({ id }) => id));
  const gone = [
    ...before.tools.filter(({ name }) => !kept.has(name)).map(({ name }) => `the tool "${name}"`),
    ...(instructions === undefined ? [] : before.instructions)
      .filter(({ id }) => !kept.has(id) && !overlay.has(id))
      .map(({ id }) => `the instruction "${id}"`),
  ];
  const notes = [
    ...gone.map(
      (what) =>
        `Served before, and not any more: ${what}, which was removed, is excluded or cannot be used now`,
    ),
    ...changed.map(
      ({ name }) =>
        `Changed since it was served: "${name}"; what comes after it is in no prompt cache any more`,
    ),
  ];
  return { carried, notes };
}

/** Nothing is where it was. */
const ANEW = { tools: 0, instructions: 0, details: [], restarted: true } as const;

const RESTARTED =
  'What was served before in this session or task leaves no room for this step within `tokenBudget`: the prompt starts anew with what is served here. Replace it.';

interface Taken {
  readonly hash: string;
  readonly tokens: number;
  readonly served: { readonly hash: string } | undefined;
}

/** Tokens from the first text on that is another one. */
function rewritten(taken: readonly Taken[]): number {
  const first = firstIndex(taken, ({ hash, served }) => served?.hash !== hash);
  return taken.slice(first).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Index of the first of which this is true; the length if it is of none. */
function firstIndex<T>(all: readonly T[], isIt: (one: T) => boolean): number {
  const index = all.findIndex(isIt);
  return index < 0 ? all.length : index;
}
