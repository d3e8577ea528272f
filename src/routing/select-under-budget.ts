import { selectionMethod } from '../../bandit/policies/itr.ts';
import { exactKnapsack } from '../../bandit/selection/knapsack.ts';
import { discountNearDuplicates } from '../../bandit/selection/near-duplicates.ts';
import {
  type BudgetedCandidates,
  NO_LIMIT,
  selectUnderBudget,
} from '../../bandit/selection/select-under-budget.ts';
import { instructionNeeds, withToolGains } from '../../bandit/selection/tool-gains.ts';
import type { DecisionBudget, DecisionInstructions } from '../decisions/decision.ts';
import { Problem } from '../errors/problem.ts';
import { promptFrame } from '../instructions/assemble-prompt.ts';
import {
  type BudgetParts,
  type Corpus,
  type InstructionCorpus,
  instructionCorpus,
  sum,
  toolCorpus,
} from './budget-corpora.ts';
import type { Found } from './find-candidates.ts';
import { assemblyOf, maxInstructions, type RouteRequest, wantsInstructions } from './route-request.ts';
import type { Slate } from './select-slate.ts';

/** What a decision under a budget records beside its slate. */
export interface Spent {
  readonly budget: DecisionBudget;
  readonly instructions?: DecisionInstructions;
}

/**
 * Selects tools and instructions within the request's budget of tokens: what is carried along and the safety overlay, then pins, then
 * what is worth most, with one place of each corpus drawn anew where the catalog explores. Where a prompt goes on, what is new has to be worth its
 * tokens in all steps to come.
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
  const always = sum(overlay.map(({ tokens }) => tokens)) + sum(parts.context);
  const spent = carriedTokens + always + frame.always;
  const budget = (request.tokenBudget ?? NO_LIMIT) - spent - frame.more;
  if (carriedTokens > 0 && isCrowdedOut(parts, tools, budget, budget + carriedTokens)) return null;
  const explore = ranked.exploration === 'plackett-luce';
  const goesOn = parts.carried !== undefined && parts.carried.restarts === undefined;
  const instructions = corpus === null ? NONE : withoutDuplicates(corpus, budget);
  const need =
    goesOn && corpus !== null
      ? instructionNeeds(corpus.scores, instructions.gain, state.effects.slope)
      : undefined;
  const selection = selectUnderBudget({
    tools: withToolGains(
      found.served === null ? tools.corpus : inTurn(tools.corpus, found, budget),
      tools.rows,
      budget,
      goesOn,
    ),
    instructions: need === undefined ? instructions : { ...instructions, need },
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

const NONE: BudgetedCandidates = {
  gain: new Float64Array(0),
  score: new Float64Array(0),
  tokens: new Float64Array(0),
  forced: [],
  limit: 0,
};

/**
 * Returns what a prompt takes beside its parts: `always`, with the overlay and pins, and `more` for all that may come to them. That is
 * as many tools, and as many instructions, as there are, as may be chosen, and as fit into the budget if the cheapest are chosen.
 */
function frameTokens(
  { request, found, context, costs: { counter } }: BudgetParts,
  tools: Corpus,
  instructions: InstructionCorpus | null,
): { readonly always: number; readonly more: number } {
  if (assemblyOf(request) !== 'prompt') return { always: 0, more: 0 };
  const overlay = instructions?.overlay ?? [];
  // What a user has is not known in advance: it may have anything in it.
  const numbered = tools.isDelimiting || instructions?.isDelimiting === true || context.length > 0;
  const pinned = new Set(tools.corpus.forced);
  const parts = { overlay: overlay.length, instructions: 0, context: context.length, tools: pinned.size };
  const always = promptFrame(parts, numbered, counter);
  const pins = sum([...pinned].map((index) => tools.tokens[index]));
  const fixed = sum(overlay.map(({ tokens }) => tokens)) + sum(context);
  const all = (request.tokenBudget ?? NO_LIMIT) - always - fixed - pins;
  // What is included comes beside those that may be chosen.
  const includes = instructions?.corpus.includes?.some((more) => more.length > 0) === true;
  const most = { tools: request.k, instructions: includes ? NO_LIMIT : maxInstructions(request) };
  if (maxInstructions(request) === 0) most.instructions = 0;
  if (found.served !== null) most.tools = NO_LIMIT;
  const free = tools.tokens.filter((_, index) => !pinned.has(index));
  parts.tools += Math.min(most.tools, countWithin(free, all));
  parts.instructions = Math.min(most.instructions, countWithin(instructions?.tokens ?? [], all));
  return { always, more: Math.max(0, Math.min(promptFrame(parts, numbered, counter) - always, all)) };
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

function withoutDuplicates({ corpus, rows }: InstructionCorpus, budget: number): BudgetedCandidates {
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
