import type { PropensityMethod } from '../../bandit/exploration/propensities.ts';
import type { QueryFeatures } from '../../bandit/policy.ts';
import type { DetailLevel, SlateMethod } from '../ledger/catalog-settings.ts';
import type { Assignment, Position } from '../ledger/entry.ts';

/** Shapes in which an agent can get definitions; `names`: it gets none. */
export const SLATE_FORMATS = [
  ...(['mcp', 'openai', 'openai-responses', 'openai-tool-search-output'] as const),
  ...(['anthropic', 'anthropic-tool-reference', 'anthropic-tool-addition', 'names'] as const),
] as const;
export type SlateFormat = (typeof SLATE_FORMATS)[number];

/**
 * What becomes of what was served before in the same session or task. append: it stays where it is, new things come after. prompt:
 * the system prompt is made anew, as text. parts: instructions and tools anew, for the caller to put together.
 */
export const ASSEMBLIES = ['append', 'prompt', 'parts'] as const;
export type Assembly = (typeof ASSEMBLIES)[number];

/** Everything about one decision that explaining, learning and off-policy evaluation need later. */
export interface Decision {
  readonly id: string;
  readonly catalog: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly deadline: number;
  readonly revision: string;
  /** Ledger position of the state that decided. */
  readonly position: Position;
  readonly policy: DecisionPolicy;
  readonly fingerprint: string | null;
  readonly query: QueryFeatures;
  /** The query's text, only if the catalog keeps texts. */
  readonly text?: string;
  /** How the query was taken apart; absent: it was not. */
  readonly split?: DecisionSplit;
  /** Whether a closer look was taken at the candidates; absent: the catalog wants none. */
  readonly rerank?: DecisionRerank;
  /** What its query is about; null: none of the catalog's domains. Absent: the catalog has none. */
  readonly domain?: string | null;
  /** Who chose the slate; absent: the policy. */
  readonly slateBy?: Exclude<SlateMethod, 'policy'>;
  readonly exploration: 'plackett-luce' | 'ucb' | 'greedy';
  readonly temperature: number;
  /** Where the propensities come from: a formula, or a slate that was not drawn. */
  readonly propensityMethod: PropensityMethod;
  readonly k: number;
  /** The shape of the definitions in its answer, and how much of each there was. */
  readonly format: SlateFormat;
  readonly detail: DetailLevel;
  /** What every shown tool is learned with when nothing is reported, −1…1; absent: nothing is learned then. */
  readonly defaultReward?: number;
  /** False: its outcomes teach nothing. */
  readonly learn: boolean;
  readonly fallback: Fallback | null;
  /** Natural log of the probability of exactly this ordered slate, pins left out. */
  readonly logProbability: number;
  /** The slate reached its caller with `activate: later`: rewards count only once it was activated. */
  readonly activation: 'now' | 'later';
  /** Key of the user, else the unit, else the session it was made for; absent: the request named none. */
  readonly unit?: string;
  /** Key of the task it was made in; absent: the request named none, and it stands alone. */
  readonly task?: string;
  /** Digest of the request that named an Idempotency-Key, which is taken for no other; absent: it named none. */
  readonly request?: string;
  /** Candidate tools by name, in order of their retrieval score. */
  readonly candidates: readonly string[];
  /** Ids of the merges that candidates stood for, by their names; absent: none did. */
  readonly merged?: Readonly<Record<string, string>>;
  /** Indices into `candidates`, in slate order. */
  readonly slate: readonly number[];
  /** Why each tool of the slate is there, and the hash of the definition that was returned; in slate order. */
  readonly reasons: readonly SlateReason[];
  readonly hashes: readonly string[];
  /** One value per candidate in every column. */
  readonly columns: DecisionColumns;
  /** Names of the policy's extra features. */
  readonly extras: readonly string[];
  /** Extra features per policy version that may learn from this decision, row-major candidates × extras. */
  readonly features: Readonly<Record<string, Float32Array>>;
  /** When the slate was shown, as far as is known; null: `activate` has not been called yet. */
  readonly activatedAt: number | null;
  /** What the request asked for and could not get, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** Experiments it took part in; absent for none. */
  readonly assignments?: readonly Assignment[];
  /** What it cost, and might cost; absent: its request named neither a token budget nor instructions. */
  readonly budget?: DecisionBudget;
  /** The instructions that were considered; absent: its request wanted none. */
  readonly instructions?: DecisionInstructions;
  /** Probability that what was served is enough, 0…1, as it was estimated before the draw; absent: it was not. */
  readonly sufficiency?: number;
  /** How far the model that works with it said that what it had before suffices, 0…1; absent: the request did not say. */
  readonly rating?: number;
  /** Further tools that were asked for, in order; their tools are the last ones of the slate. Absent: none. */
  readonly discoveries?: readonly Discovery[];
  /** What was served before in the same session or task, and is served again; absent: nothing. */
  readonly carried?: DecisionCarried;
  /** Key of the session or task whose prompt it goes on with; absent: its assembly is not `append`. */
  readonly thread?: string;
  /** What its user has that the query needs; absent: the request named no user, or one who has nothing. */
  readonly context?: DecisionContext;
}

/** Items of a user, by names and numbers that only the keys of the service and of the user tell anything about. */
export interface DecisionContext {
  /** Name that stands for the user. */
  readonly user: string;
  /** Best first. Score: the estimated probability that the query needs it, 0…1. */
  readonly items: readonly { readonly number: number; readonly score: number }[];
  /** Of the text of each item; absent: no tokens were counted. */
  readonly tokens?: readonly number[];
  /** Whether the query was expanded by a chat model to find them; absent: the catalog wants none to be. */
  readonly expanded?: boolean;
  /** What policies read of the items: 16 numbers, 0…1. */
  readonly features: Float32Array;
  /** Why each was chosen, and where the user was: encrypted under the key of the user, in base64. */
  readonly sealed: string;
}

/** Tools that were asked for when a slate did not suffice. Lists of one length. */
export interface Discovery {
  /** ms since the epoch. */
  readonly at: number;
  /** By name, in the order in which they were answered; none were left, or a summary was asked for, where it is empty. */
  readonly tools: readonly string[];
  /** Probability of each to be among them, given what was shown before, 0…1. */
  readonly propensity: readonly number[];
  /** Of the definitions that were answered. */
  readonly hashes: readonly string[];
  /** How far the model said that what it had suffices, 0…1. */
  readonly rating?: number;
  /** Probability that all that it then had is enough, 0…1. */
  readonly sufficiency?: number;
  /** The catalog was summed up, too. */
  readonly summary?: true;
  /** No tools were asked for. Absent: they were. */
  readonly asked?: 'summary';
  /** Digests of the Idempotency-Key and of the request that named it; absent: it named none. */
  readonly key?: string;
  readonly request?: string;
}

/** Returns a decision with these discoveries: their tools come after those of its slate. */
export function withDiscoveries(decision: Decision, discoveries: readonly Discovery[]): Decision {
  if (discoveries.length === 0) return decision;
  const tools = discoveries.flatMap((discovery) => discovery.tools);
  return {
    ...decision,
    discoveries,
    slate: [...decision.slate, ...tools.map((tool) => decision.candidates.indexOf(tool))],
    reasons: [...decision.reasons, ...tools.map(() => 'discovered' as const)],
    hashes: [...decision.hashes, ...discoveries.flatMap(({ hashes }) => hashes)],
  };
}

/** Returns how many tools of a slate were discovered: its last ones. */
export function discoveredCount({ discoveries = [] }: Pick<Decision, 'discoveries'>): number {
  return discoveries.reduce((sum, { tools }) => sum + tools.length, 0);
}

/** Returns a decision as it was before anything was discovered. */
export function withoutDiscoveries(decision: Decision): Decision {
  const { discoveries, ...first } = decision;
  if (discoveries === undefined) return decision;
  const length = decision.slate.length - discoveredCount(decision);
  const [slate, reasons, hashes] = [decision.slate, decision.reasons, decision.hashes];
  return {
    ...first,
    ...{ slate: slate.slice(0, length), reasons: reasons.slice(0, length), hashes: hashes.slice(0, length) },
  };
}

/** Everything in tokens of language models. */
export interface DecisionBudget {
  /** Most that all that is served may take; null: no limit was named. */
  readonly tokenBudget: number | null;
  readonly assembly: Assembly;
  /** What counted the tokens. */
  readonly counter: string;
  /** Of each candidate's definition as it would be served; those that are carried cost this too, but nothing new. */
  readonly tokens: readonly number[];
  /** Tokens that were left for pins and for what was chosen: the rest was carried, is the safety overlay, or holds the prompt together. */
  readonly room: number;
  /** Most tools that could be chosen beside those that were pinned or carried. */
  readonly limit: number;
  /** Candidates that would have been served without exploration, by index. */
  readonly core: readonly number[];
  /** Candidates that would have been served if they had been free, by index, best first. */
  readonly leftOut: readonly number[];
  /** All tools of the catalog in full, and all its approved instructions. */
  readonly monolithic: number;
}

/** The instructions of a decision. One value per candidate in every list; safety instructions are no candidates. */
export interface DecisionInstructions {
  readonly ids: readonly string[];
  readonly hashes: readonly string[];
  /** Expected increase of the success when it is present beside those that were considered before it. */
  readonly gain: readonly number[];
  /** Most that might be served beside those that were served before. */
  readonly limit: number;
  /** What retrieval says, 0…1. */
  readonly score: readonly number[];
  /** Probability of being served, 0…1. */
  readonly propensity: readonly number[];
  readonly tokens: readonly number[];
  /** Candidates that were served, by index, in the order in which they were. */
  readonly shown: readonly number[];
  /** Candidates that would have been served if they had been free, by index, best first. */
  readonly leftOut: readonly number[];
  /** The approved safety instructions, which are always served, first. */
  readonly overlay: readonly ServedInstruction[];
}

export interface ServedInstruction {
  readonly id: string;
  readonly hash: string;
  readonly tokens: number;
}

/** What a decision took over. Its tools are the first of the slate. */
export interface DecisionCarried {
  /** The newest decisions whose prompt this one goes on with; more than one, when steps were asked for at once. */
  readonly from: readonly string[];
  /** How many discoveries of each of them were there then: what is asked for later is taken over by the next one. */
  readonly discoveries: readonly number[];
  /** How many tools of the slate were served before. */
  readonly tools: number;
  /** Ids of the instructions that were served before and are again, safety ones too, in the order in which they stand; new ones come after. */
  readonly instructions: readonly string[];
  /** How much of each carried tool's definition was served the first time, and is again. */
  readonly details: readonly DetailLevel[];
  /** Names of carried tools, and ids of carried instructions, whose text is another one than the one that was served; absent: none. */
  readonly changed?: readonly string[];
  readonly changedInstructions?: readonly string[];
  /** Tokens that a prompt cache has: what is where it was, as long as nothing before it is new. */
  readonly read: number;
  /** What was there left no room within the budget: the prompt starts anew, and nothing of it is where it was. */
  readonly restarted?: true;
}

/** Who decided. */
export interface DecisionPolicy {
  readonly name: string;
  readonly version: string;
  /** Both or neither. */
  readonly experiment?: string;
  readonly variant?: string;
}

export interface DecisionSplit {
  readonly by: 'clauses' | 'llm';
  /** How many sub-queries were searched for beside the whole; 0: the query asks for one thing. */
  readonly parts: number;
  /** Why another splitter than the catalog's did it; null: it did it itself. */
  readonly fallback: string | null;
  /** The sub-queries, only if the catalog keeps texts. */
  readonly texts?: readonly string[];
}

export interface DecisionRerank {
  /** Name of the reranker. */
  readonly by: string;
  /** Why the fused order stood; null: it did not. */
  readonly fallback: string | null;
  /** The same of instructions; absent: none were chosen, or there are none. */
  readonly instructions?: string | null;
}

/** Why a tool is in the slate. */
export const SLATE_REASONS = [
  ...(['retrieved', 'remembered', 'used', 'explored', 'pinned', 'carried', 'discovered'] as const),
] as const;
export type SlateReason = (typeof SLATE_REASONS)[number];

/** Why a slate is not the usual ranking. */
export const FALLBACKS = ['low_confidence', 'embedder_down', 'kill_switch'] as const;
export type Fallback = (typeof FALLBACKS)[number];

export interface DecisionColumns {
  readonly score: Float32Array;
  readonly mean: Float32Array;
  readonly base: Float32Array;
  readonly gain: Float32Array;
  readonly uncertainty: Float32Array;
  readonly bonus: Float32Array;
  readonly trials: Float32Array;
  readonly propensity: Float32Array;
  readonly similarity: Float32Array;
  /** h, c and g of retrieval. */
  readonly lexical: Float32Array;
  readonly dense: Float32Array;
  readonly retrieval: Float32Array;
}

/** The part of a decision that taking rewards needs: a thirtieth of the whole record. */
export interface DecisionHead
  extends Pick<Decision, 'id' | 'catalog' | 'at' | 'deadline' | 'activatedAt' | 'task'> {
  /** Names of the tools in its slate. */
  readonly shown: readonly string[];
  /** Ids of the merges that they stood for, by their names; absent: none did. */
  readonly merged?: Readonly<Record<string, string>>;
  /** Whether its user has items; absent: no. */
  readonly hasContext?: true;
}

export function headOf({
  id,
  catalog,
  at,
  deadline,
  activatedAt,
  task,
  slate,
  candidates,
  merged = {},
  context,
}: Decision): DecisionHead {
  const shown = slate.map((index) => candidates[index]);
  const stoodFor = Object.entries(merged).filter(([name]) => shown.includes(name));
  return {
    ...{ id, catalog, at, deadline, activatedAt },
    ...(task !== undefined && { task }),
    shown,
    ...(stoodFor.length > 0 && { merged: Object.fromEntries(stoodFor) }),
    ...(context !== undefined && { hasContext: true as const }),
  };
}

/** Returns when the last of a decision was shown, its slate or a discovery; ms since the epoch. */
export function shownAt({
  at,
  activatedAt,
  discoveries = [],
}: Pick<Decision, 'at' | 'activatedAt' | 'discoveries'>): number {
  return Math.max(activatedAt ?? at, ...discoveries.map((discovery) => discovery.at));
}

/** Returns until when rewards of a decision are learned, ms since the epoch. The window begins when the slate was shown. */
export function rewardDeadline(decision: Pick<Decision, 'deadline' | 'at' | 'activatedAt'>): number {
  return decision.deadline - decision.at + (decision.activatedAt ?? decision.at);
}
