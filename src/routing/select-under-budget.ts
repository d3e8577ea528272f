import { explorationScores } from '../../bandit/effects/instruction-effects.ts';
import { ITR, itrScores, selectionMethod } from '../../bandit/policies/itr.ts';
import { policyParameters } from '../../bandit/policies/registry.ts';
import type { Candidates } from '../../bandit/policy.ts';
import type { Random } from '../../bandit/random.ts';
import { exactKnapsack } from '../../bandit/selection/knapsack.ts';
import { discountNearDuplicates } from '../../bandit/selection/near-duplicates.ts';
import {
  type BudgetedCandidates,
  NO_LIMIT,
  selectUnderBudget,
} from '../../bandit/selection/select-under-budget.ts';
import { toolGains, withToolGains } from '../../bandit/selection/tool-gains.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { DecisionBudget, DecisionInstructions } from '../decisions/decision.ts';
import { Problem } from '../errors/problem.ts';
import { promptFrame, SEPARATOR_TOKENS } from '../instructions/assemble-prompt.ts';
import { findInstructions, safetyOverlay } from '../instructions/find-instructions.ts';
import type { DetailLevel, PolicySettings } from '../ledger/catalog-settings.ts';
import type { InstructionRecord } from '../state/instruction-table.ts';
import type { Carried } from './carried.ts';
import type { Found } from './find-candidates.ts';
import { assemblyOf, DEFAULT_MAX_INSTRUCTIONS, type RouteRequest } from './route-request.ts';
import type { RankedCandidates, Slate } from './select-slate.ts';
import type { TokenCosts } from './token-costs.ts';
import type { UnderstoodQuery } from './understand-query.ts';

/** Instructions that retrieval proposes, as many as tools. */
const RETRIEVED = 50;

/** What a decision under a budget records beside its slate. */
export interface Spent {
  readonly budget: DecisionBudget;
  readonly instructions?: DecisionInstructions;
}

export interface BudgetParts {
  readonly request: RouteRequest;
  readonly query: UnderstoodQuery;
  readonly found: Found;
  /** By what the tools are ordered. */
  readonly ranked: RankedCandidates;
  /** T of the softmax of exploration. */
  readonly temperature: number;
  /** Of the policy that decides. */
  readonly policy: PolicySettings;
  readonly detail: DetailLevel;
  readonly costs: TokenCosts;
  readonly carried: Carried | undefined;
  readonly catalog: Pick<Catalog, 'state' | 'instructionIndex'>;
  readonly random: Random;
}

/**
 * Selects tools and instructions within the request's budget of tokens: what is carried along and the safety overlay, then pins, then
 * what is worth most, with one place of each corpus drawn anew where the catalog explores.
 *
 * @returns null: what is carried leaves no room, for what has to be served or for the tool that fits the step best
 * @throws Problem budget-too-small, without anything that is carried
 */
export function selectSlateUnderBudget(parts: BudgetParts): (Slate & Spent) | null {
  const { request, found, ranked, policy, costs, catalog, random } = parts;
  const { state } = catalog;
  const tools = toolCorpus(parts);
  const corpus = wantsInstructions(request) ? instructionCorpus(parts) : null;
  const overlay = corpus?.overlay ?? [];
  const carriedTokens = tools.carriedTokens + (corpus?.carriedTokens ?? 0);
  const frame = frameTokens(parts, tools, corpus);
  const spent = carriedTokens + sum(overlay.map(({ tokens }) => tokens)) + frame.always;
  const budget = (request.tokenBudget ?? NO_LIMIT) - spent - frame.more;
  if (carriedTokens > 0 && isCrowdedOut(parts, tools, budget, budget + carriedTokens)) return null;
  const explore = ranked.exploration === 'plackett-luce';
  const instructions = corpus === null ? NONE : withoutDuplicates(corpus.corpus, corpus.rows, budget);
  const selection = selectUnderBudget({
    tools: withToolGains(
      found.served === null ? tools.corpus : inTurn(tools.corpus, found, budget),
      tools.rows,
      budget,
    ),
    instructions,
    ...{ budget, method: selectionMethod(policy), explore, random, temperature: parts.temperature },
  });
  if ('needed' in selection) {
    if (carriedTokens > 0) return null;
    throw tooSmall(request, spent + selection.needed, spent, found.pinned.length);
  }
  const served = found.served !== null;
  return {
    order: selection.tools.chosen,
    score: ranked.score,
    propensities: selection.tools.propensity,
    propensityMethod: explore && !served ? 'exact' : 'deterministic',
    logProbability: selection.tools.logProbability + selection.instructions.logProbability,
    exploration: served ? 'greedy' : ranked.exploration,
    temperature: served ? 0 : parts.temperature,
    fallback: ranked.fallback,
    budget: {
      tokenBudget: request.tokenBudget ?? null,
      assembly: assemblyOf(request),
      counter: costs.counter.name,
      tokens: tools.tokens,
      room: budget,
      limit: tools.corpus.limit,
      core: selection.toolCore,
      leftOut: selection.tools.leftOut,
      monolithic: costs.monolithic(state, request.format),
    },
    ...(corpus !== null && {
      instructions: {
        ids: corpus.records.map(({ instruction }) => instruction.id),
        hashes: corpus.records.map(({ hash }) => hash),
        gain: [...instructions.gain],
        limit: instructions.limit,
        score: [...corpus.scores],
        propensity: [...selection.instructions.propensity],
        tokens: corpus.tokens,
        shown: selection.instructions.chosen,
        leftOut: selection.instructions.leftOut,
        overlay,
      },
    }),
  };
}

/**
 * Returns S of instructions as a policy has it, 0…1: only `itr` has its own.
 *
 * @param embedded whether the query has a vector, and the candidates cosines
 */
export function instructionScores(
  { name, parameters }: PolicySettings,
  candidates: Candidates,
  embedded: boolean,
): Float64Array {
  if (name !== ITR.name) return candidates.base;
  const complete = policyParameters(name, parameters);
  // As a share of the most that it can be, since effects are learned from scores of 0 to 1. No reranker reads instructions.
  const most = (embedded ? complete.w1 : 0) + complete.w2 + (candidates.reranked ? complete.w3 : 0);
  return itrScores(candidates, complete).map((score) => (most > 0 ? Math.max(0, score / most) : 0));
}

const NONE: BudgetedCandidates = {
  gain: new Float64Array(0),
  score: new Float64Array(0),
  tokens: new Float64Array(0),
  forced: [],
  limit: 0,
};

/** A corpus as it is selected from, and what the record of the decision says about it. */
interface Corpus {
  readonly corpus: BudgetedCandidates;
  /** Vector of each candidate. */
  readonly rows: readonly Float32Array[];
  /** Of each candidate by itself. */
  readonly tokens: readonly number[];
  readonly carriedTokens: number;
}

function toolCorpus({ request, found, ranked, detail, costs, carried, catalog }: BudgetParts): Corpus {
  const { slots } = found.candidates;
  const { tools } = catalog.state;
  const kept = found.carried.map((slot) => slots.indexOf(slot));
  const pinned = found.pinned.map((slot) => slots.indexOf(slot));
  const details = new Map((carried?.tools ?? []).map(({ name, detail: served }) => [name, served]));
  const tokens = Array.from(slots, (slot, index) => {
    const { tool } = tools.atSlot(slot)!;
    const served = kept.includes(index) ? (details.get(tool.name) ?? detail) : detail;
    return costs.tool(tool, request.format, served);
  });
  return {
    corpus: {
      gain: toolGains(ranked.score),
      score: ranked.score,
      tokens: free(tokens, kept),
      forced: [...kept, ...pinned],
      limit: Math.max(0, request.k - pinned.length - amongBest(kept, ranked.score, request.k)),
    },
    rows: vectorsOf(slots, tools.vectors),
    tokens,
    carriedTokens: sum(kept.map((index) => tokens[index])),
  };
}

interface InstructionCorpus extends Corpus {
  readonly records: readonly InstructionRecord[];
  readonly scores: Float64Array;
  readonly overlay: DecisionInstructions['overlay'];
}

function instructionCorpus(parts: BudgetParts): InstructionCorpus {
  const { request, query, costs, carried, catalog } = parts;
  const { instructions } = catalog.state;
  const always = safetyOverlay(instructions);
  const exclude = new Set(always.map(({ slot }) => slot));
  const keptSlots = (carried?.instructions ?? [])
    .map(({ id }) => instructions.get(id))
    .filter((record) => record?.instruction.status === 'approved')
    .map((record) => record!.slot)
    .filter((slot) => !exclude.has(slot));
  const candidates = withIncluded(
    (pin) => findInstructions(query, catalog, RETRIEVED, { pin: [...keptSlots, ...pin], exclude }),
    instructions,
  );
  const { slots } = candidates;
  const records = Array.from(slots, (slot) => instructions.atSlot(slot)!);
  const kept = keptSlots.map((slot) => slots.indexOf(slot));
  const tokens = records.map(({ instruction }) => costs.instruction(instruction));
  const places = new Map(records.map(({ slot }, index) => [slot, index]));
  const includes = records.map((record) =>
    instructions
      .includedBy(record)
      .map(({ slot }) => places.get(slot))
      .filter((index) => index !== undefined),
  );
  // The frame has room for what is chosen; what comes with it stands apart as well.
  const apart = assemblyOf(request) === 'prompt' ? SEPARATOR_TOKENS : 0;
  const alone = free(tokens, kept);
  const scores = instructionScores(parts.policy, candidates, query.features.embedding !== null);
  const gain = catalog.state.effects.gains(slots, scores);
  const most = maxInstructions(request);
  return {
    corpus: {
      ...{ gain, score: explorationScores(gain), forced: kept, includes },
      tokens: alone.map((own, index) => own + sum(includes[index].map((one) => alone[one] + apart))),
      limit: Math.max(0, most - amongBest(kept, gain, most)),
    },
    ...{ records, scores, tokens },
    rows: vectorsOf(slots, instructions.vectors),
    overlay: always.map(({ instruction, hash }) => ({
      id: instruction.id,
      hash,
      tokens: costs.instruction(instruction),
    })),
    carriedTokens: sum(kept.map((index) => tokens[index])),
  };
}

/** Every prompt that is made here has the safety overlay. */
function wantsInstructions(request: RouteRequest): boolean {
  return request.instructions === true || assemblyOf(request) === 'prompt';
}

function maxInstructions({ instructions, maxInstructions: most }: RouteRequest): number {
  return instructions === true ? (most ?? DEFAULT_MAX_INSTRUCTIONS) : 0;
}

/**
 * Returns what a prompt takes beside its parts: `always`, with the overlay and pins, and `more` for all that may come to them. That is
 * as many tools, and as many instructions, as there are, as may be chosen, and as fit into the budget if the cheapest are chosen.
 */
function frameTokens(
  { request, found, costs: { counter } }: BudgetParts,
  tools: Corpus,
  instructions: InstructionCorpus | null,
): { readonly always: number; readonly more: number } {
  if (assemblyOf(request) !== 'prompt') return { always: 0, more: 0 };
  const overlay = instructions?.overlay ?? [];
  const pinned = new Set(tools.corpus.forced);
  const parts = { overlay: overlay.length, instructions: 0, tools: pinned.size };
  const always = promptFrame(parts, counter);
  const pins = sum([...pinned].map((index) => tools.tokens[index]));
  const all = (request.tokenBudget ?? NO_LIMIT) - always - sum(overlay.map(({ tokens }) => tokens)) - pins;
  // What is included comes beside those that may be chosen.
  const includes = instructions?.corpus.includes?.some((more) => more.length > 0) === true;
  const most = { tools: request.k, instructions: includes ? NO_LIMIT : maxInstructions(request) };
  if (maxInstructions(request) === 0) most.instructions = 0;
  if (found.served !== null) most.tools = NO_LIMIT;
  const free = tools.tokens.filter((_, index) => !pinned.has(index));
  parts.tools += Math.min(most.tools, countWithin(free, all));
  parts.instructions = Math.min(most.instructions, countWithin(instructions?.tokens ?? [], all));
  return { always, more: Math.max(0, Math.min(promptFrame(parts, counter) - always, all)) };
}

/** Returns how many fit into so many tokens together, the cheapest first. */
function countWithin(tokens: readonly number[], all: number): number {
  let room = all;
  let count = 0;
  for (const one of tokens.toSorted((a, b) => a - b)) {
    room -= one;
    if (room < 0) break;
    count++;
  }
  return count;
}

/** How many of the carried ones are as good as anything new: each of them takes the place of something new. */
function amongBest(kept: readonly number[], score: Float64Array, count: number): number {
  if (kept.length === 0 || count === 0) return 0;
  const least = score.slice().sort()[Math.max(0, score.length - count)];
  return kept.filter((index) => score[index] >= least).length;
}

/** Searches once more if something comes with a candidate that is none itself. */
function withIncluded(
  search: (pin: readonly number[]) => Candidates,
  instructions: Catalog['state']['instructions'],
): Candidates {
  const found = search([]);
  const included = new Set<number>();
  for (const slot of found.slots) {
    for (const record of instructions.includedBy(instructions.atSlot(slot)!)) included.add(record.slot);
  }
  for (const slot of found.slots) included.delete(slot);
  return included.size === 0 ? found : search([...included]);
}

/**
 * Returns whether the tool with the highest score does not fit beside what is carried, and would be chosen if nothing were. It does not
 * depend on any draw.
 */
function isCrowdedOut(
  { request, found, ranked: { score } }: BudgetParts,
  { corpus, tokens }: Corpus,
  room: number,
  roomAlone: number,
): boolean {
  const best = score.reduce((first, value, index) => (value > score[first] ? index : first), 0);
  if (found.served !== null || score.length === 0 || corpus.forced.includes(best)) return false;
  const pinned = corpus.forced.slice(found.carried.length);
  const pins = sum(pinned.map((index) => tokens[index]));
  if (tokens[best] <= room - pins) return false;
  const gain = corpus.gain.slice();
  for (const index of pinned) gain[index] = 0;
  const alone = { gain, tokens: Float64Array.from(tokens), limit: request.k - pinned.length };
  return exactKnapsack(alone, NONE, roomAlone - pins).tools.includes(best);
}

/** The slate that the fail mode chose: in its order, as long as each fits. */
function inTurn(
  corpus: BudgetedCandidates,
  { served, candidates }: Found,
  budget: number,
): BudgetedCandidates {
  const forced = [...corpus.forced];
  let room = budget - sum(forced.map((index) => corpus.tokens[index]));
  for (const slot of served ?? []) {
    const index = candidates.slots.indexOf(slot);
    if (forced.includes(index) || corpus.tokens[index] > room) continue;
    forced.push(index);
    room -= corpus.tokens[index];
  }
  return { ...corpus, forced, limit: 0 };
}

function withoutDuplicates(
  corpus: BudgetedCandidates,
  rows: readonly Float32Array[],
  budget: number,
): BudgetedCandidates {
  const { gain, tokens, forced } = corpus;
  return { ...corpus, gain: discountNearDuplicates(gain, tokens, rows, forced, budget) };
}

function tooSmall(request: RouteRequest, needed: number, spent: number, pinned: number): Problem {
  const isPrompt = assemblyOf(request) === 'prompt';
  const always = [
    ...(wantsInstructions(request) ? ['safety instructions'] : []),
    ...(isPrompt ? ['what holds the prompt together'] : []),
  ];
  const ofThem = spent > 0 && always.length > 0 ? `, ${spent} of them for ${always.join(' and ')}` : '';
  const others = [
    ...(pinned > 0 ? ['pin fewer tools'] : []),
    ...(isPrompt ? ['take `assembly: "parts"`, which needs no headings'] : []),
  ];
  return new Problem(
    'budget-too-small',
    `What has to be served takes ${needed} tokens${ofThem}; \`tokenBudget\` is ${request.tokenBudget}.`,
    `${[`Send a \`tokenBudget\` of at least ${needed}`, ...others].join(', or ')}.`,
    { violations: [{ path: 'tokenBudget', message: `must be at least ${needed}` }] },
  );
}

function vectorsOf(slots: Int32Array, vectors: ToolVectors): Float32Array[] {
  return Array.from(slots, (slot) => vectors.get(slot));
}

/** Returns what each costs when these cost nothing. */
function free(tokens: readonly number[], kept: readonly number[]): Float64Array {
  const price = Float64Array.from(tokens);
  for (const index of kept) price[index] = 0;
  return price;
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
