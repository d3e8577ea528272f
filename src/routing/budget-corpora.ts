import { explorationScores } from '../../bandit/effects/instruction-effects.ts';
import { ITR, itrScores } from '../../bandit/policies/itr.ts';
import { policyParameters } from '../../bandit/policies/registry.ts';
import type { Candidates } from '../../bandit/policy.ts';
import type { Random } from '../../bandit/random.ts';
import type { BudgetedCandidates } from '../../bandit/selection/select-under-budget.ts';
import { toolGains } from '../../bandit/selection/tool-gains.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { DecisionInstructions } from '../decisions/decision.ts';
import { SEPARATOR_TOKENS } from '../instructions/assemble-prompt.ts';
import { findInstructions, safetyOverlay } from '../instructions/find-instructions.ts';
import type { DetailLevel, PolicySettings } from '../ledger/catalog-settings.ts';
import type { InstructionRecord } from '../state/instruction-table.ts';
import type { Carried } from './carried.ts';
import type { Found } from './find-candidates.ts';
import { assemblyOf, maxInstructions, type RouteRequest } from './route-request.ts';
import type { RankedCandidates } from './select-slate.ts';
import type { TokenCosts } from './token-costs.ts';
import { scoresBySlot, type UnderstoodQuery } from './understand-query.ts';

/** Instructions that retrieval proposes, as many as tools. */
const RETRIEVED = 50;

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
  /** Tokens of each item of the user's context that is served. */
  readonly context: readonly number[];
  readonly catalog: Pick<Catalog, 'state' | 'instructionIndex'>;
  readonly random: Random;
}

/** A corpus as it is selected from, and what the record of the decision says about it. */
export interface Corpus {
  readonly corpus: BudgetedCandidates;
  /** Vector of each candidate. */
  readonly rows: readonly Float32Array[];
  /** Of each candidate by itself. */
  readonly tokens: readonly number[];
  readonly carriedTokens: number;
  /** A prompt is made, and a text of it may have what could be taken for one of its delimiters. */
  readonly isDelimiting: boolean;
}

export function toolCorpus({ request, found, ranked, detail, costs, carried, catalog }: BudgetParts): Corpus {
  const { slots } = found.candidates;
  const { tools, merges } = catalog.state;
  const kept = found.carried.map((slot) => slots.indexOf(slot));
  const pinned = found.pinned.map((slot) => slots.indexOf(slot));
  const details = new Map((carried?.tools ?? []).map(({ name, detail: served }) => [name, served]));
  const tokens = Array.from(slots, (slot, index) => {
    const { tool } = merges.served(slot)!;
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
    isDelimiting:
      assemblyOf(request) === 'prompt' &&
      Array.from(slots).some((slot) => costs.hasDelimiter(merges.served(slot)!.tool)),
  };
}

export interface InstructionCorpus extends Corpus {
  readonly records: readonly InstructionRecord[];
  readonly scores: Float64Array;
  readonly overlay: DecisionInstructions['overlay'];
}

export function instructionCorpus(parts: BudgetParts): InstructionCorpus {
  const { request, query, costs, carried, catalog } = parts;
  const { instructions } = catalog.state;
  const always = safetyOverlay(instructions);
  const exclude = new Set(always.map(({ slot }) => slot));
  const keptSlots = (carried?.instructions ?? [])
    .map(({ id }) => instructions.get(id))
    .filter((record) => record?.instruction.status === 'approved')
    .map((record) => record!.slot)
    .filter((slot) => !exclude.has(slot));
  const reranked = query.rerankedInstructions;
  const rerank = reranked ? scoresBySlot(reranked, instructions.live()) : undefined;
  const candidates = withIncluded(
    (pin) => findInstructions(query, catalog, RETRIEVED, { rerank, pin: [...keptSlots, ...pin], exclude }),
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
    isDelimiting:
      assemblyOf(request) === 'prompt' &&
      [...records, ...always].some(({ instruction }) => costs.hasDelimiter(instruction)),
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
  // As a share of the most that it can be, since effects are learned from scores of 0 to 1.
  const most = (embedded ? complete.w1 : 0) + complete.w2 + (candidates.reranked ? complete.w3 : 0);
  return itrScores(candidates, complete).map((score) => (most > 0 ? Math.max(0, score / most) : 0));
}

/** How many of the carried ones are among so many best, of equals before what is new: each of them takes the place of something new. */
function amongBest(kept: readonly number[], score: Float64Array, count: number): number {
  if (kept.length === 0 || count === 0) return 0;
  const isKept = new Set(kept);
  const order = [...score.keys()].sort(
    (a, b) => score[b] - score[a] || Number(isKept.has(b)) - Number(isKept.has(a)),
  );
  return order.slice(0, count).filter((index) => isKept.has(index)).length;
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

function vectorsOf(slots: Int32Array, vectors: ToolVectors): Float32Array[] {
  return Array.from(slots, (slot) => vectors.get(slot));
}

/** Returns what each costs when these cost nothing. */
function free(tokens: readonly number[], kept: readonly number[]): Float64Array {
  const price = Float64Array.from(tokens);
  for (const index of kept) price[index] = 0;
  return price;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
