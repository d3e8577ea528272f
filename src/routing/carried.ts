import type { Decision } from '../decisions/decision.ts';
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
