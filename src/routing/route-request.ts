import type { Assembly, SlateFormat } from '../decisions/decision.ts';
import type { DetailLevel, SlateMethod } from '../ledger/catalog-settings.ts';
import type { ContextValue } from '../ledger/experiment-definition.ts';

/** What an agent asks. The HTTP layer has filled in the defaults. */
export interface RouteRequest {
  /** Either the query itself or the conversation it ends; exactly one of the two. */
  readonly query?: string;
  readonly messages?: readonly unknown[];
  readonly catalog: string;
  readonly sessionId?: string;
  readonly unitId?: string;
  readonly userId?: string;
  /** The user turn or job that the query is a step of. */
  readonly task?: string;
  /** What is known about the request; experiments can be limited to some values. */
  readonly context?: Readonly<Record<string, ContextValue>>;
  /** 1…50. */
  readonly k: number;
  /** Tools that must be in the slate. */
  readonly pin?: readonly string[];
  /** Tools that must not be in it. */
  readonly exclude?: readonly string[];
  readonly format: SlateFormat;
  /** How much of each definition; absent: what its variant of an experiment says, else the catalog. */
  readonly detail?: DetailLevel;
  /** Who chooses the slate; absent: what the catalog says. */
  readonly slate?: SlateMethod;
  /** `later`: rewards count only after POST …/activate said that the slate was really shown. */
  readonly activate: 'now' | 'later';
  /** How far the model that asks says that what it was served before suffices, 0…1. */
  readonly rating?: number;
  /** False: rank greedily; the decision still teaches. */
  readonly explore: boolean;
  /** False: outcomes are counted but nothing is learned from them. */
  readonly learn: boolean;
  /** Most tokens that all that is served may take, 1…10,000,000; absent: no limit. */
  readonly tokenBudget?: number;
  /** True: instructions are served, too. */
  readonly instructions?: boolean;
  /** How many instructions at most that were not served before, 0…50, beside the safety overlay; absent: 4. */
  readonly maxInstructions?: number;
  /** Absent: `append` in a session or task, else `parts`. */
  readonly assembly?: Assembly;
  /** How many items of the user's context at most, 0…20; absent: 3. */
  readonly maxContext?: number;
  /** Where the user is, in the caller's words. */
  readonly place?: string;
  /** Of the user's clock, −840…840; absent: UTC. */
  readonly utcOffsetMinutes?: number;
}

export const DEFAULT_MAX_CONTEXT = 3;

/** Returns how many items of the user's context may be chosen: none without a user. */
export function maxContext({ userId, maxContext: most = DEFAULT_MAX_CONTEXT }: RouteRequest): number {
  return userId === undefined ? 0 : most;
}

/** Returns whether a request asks for less than everything, or for instructions: then tokens are counted. */
export function countsTokens({
  tokenBudget,
  instructions,
}: Pick<RouteRequest, 'tokenBudget' | 'instructions'>): boolean {
  return tokenBudget !== undefined || instructions === true;
}

/** Returns what becomes of what was served before. */
export function assemblyOf({
  assembly,
  sessionId,
  task,
}: Pick<RouteRequest, 'assembly' | 'sessionId' | 'task'>): Assembly {
  return assembly ?? (sessionId !== undefined || task !== undefined ? 'append' : 'parts');
}

/** Returns whether instructions are served: every prompt that is assembled has the safety overlay. */
export function wantsInstructions(request: RouteRequest): boolean {
  return request.instructions === true || assemblyOf(request) === 'prompt';
}

/** Returns how many instructions may be chosen beside the safety overlay. */
export function maxInstructions({ instructions, maxInstructions: most }: RouteRequest): number {
  return instructions === true ? (most ?? DEFAULT_MAX_INSTRUCTIONS) : 0;
}

export const DEFAULT_MAX_INSTRUCTIONS = 4;
