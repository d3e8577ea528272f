import {
  type Assembly,
  type Decision,
  type DecisionBudget,
  withoutDiscoveries,
} from '../decisions/decision.ts';
import { type AssembledPrompt, assemblePrompt } from '../instructions/assemble-prompt.ts';
import { inPromptOrder } from '../instructions/find-instructions.ts';
import { servedText } from '../instructions/served-text.ts';
import { fitDocuments, type ServedDocument } from '../instructions/tool-document.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { inServedOrder } from './carried.ts';
import { textForModel } from './slate-definition.ts';
import type { TokenCosts } from './token-costs.ts';

/** Of an answer to a request that names a token budget or wants instructions. */
export interface BudgetedAnswer {
  /** In the order in which they belong into the prompt: the safety overlay first, or what was served before. Absent: the request wanted none. */
  readonly instructions?: readonly RoutedInstruction[];
  readonly tokens: AnswerTokens;
  readonly leftOut: LeftOut;
  readonly costTokens: CostTokens;
  readonly assembly: Assembly;
  /** True: what was served before left no room, and what is served here replaces all of it. */
  readonly restarted?: true;
  /** The system prompt, with assembly `prompt`. */
  readonly prompt?: string;
}

export interface RoutedInstruction {
  readonly id: string;
  readonly text: string;
  readonly tokens: number;
  /** Expected increase of the success when it is present; 0 for safety instructions, which are not weighed. */
  readonly gain: number;
  /** `safety`, `role`, `policy`, `style` or `exemplar`. */
  readonly kind: string;
  /** Probability that this instruction was served, 0…1. */
  readonly propensity: number;
  readonly carried?: boolean;
  /** True: it is carried, and its text is another one than the one that was served before. */
  readonly changed?: boolean;
}

export interface AnswerTokens {
  /** Of all definitions, carried ones too. */
  readonly slate: number;
  readonly instructions: number;
  /** Of the items of the user's context; absent: there are none. */
  readonly context?: number;
  /** Of what the tools' documents say beside their definitions. */
  readonly documents: number;
  /** Of all that is served. */
  readonly total: number;
  /** Of all tools of the catalog in full, and all its approved instructions. */
  readonly monolithic: number;
}

/** What would have been served if it had cost nothing, best first. */
export interface LeftOut {
  readonly tools: readonly LeftOutTool[];
  readonly instructions: readonly { readonly id: string; readonly tokens: number }[];
}

export interface LeftOutTool {
  readonly name: string;
  readonly tokens: number;
  /** What it would take at `detail: "brief"`, where that fits into the budget and the whole definition does not, even alone. */
  readonly brief?: number;
}

/** What is served, in tokens by how a provider with a prompt cache charges for them. */
export interface CostTokens {
  /** New in the prompt. */
  readonly written: number;
  /** There before, byte for byte. */
  readonly read: number;
  /** At the full price: written × 1.25 + read × 0.1; where the prompt is made anew, which no cache helps, all of it × 1. */
  readonly full: number;
}

/** What providers charge for tokens that are written to a prompt cache and read from it, in parts of the price without one. */
export const WRITE_PRICE = 1.25;
export const READ_PRICE = 0.1;

type BudgetedDecision = Decision & { readonly budget: DecisionBudget };

/**
 * What the answer says about tokens, and the instructions; nothing where the request named no budget and wanted no instructions.
 *
 * @param documents of each tool of the slate
 * @param context texts of the items of its user, best first; absent: they are counted as they were when it was made
 */
export function budgetedAnswer(
  decision: Decision,
  state: CatalogState,
  costs: TokenCosts,
  documents: readonly ServedDocument[],
  context: readonly string[] | undefined,
): Partial<BudgetedAnswer> {
  if (!isBudgeted(decision)) return {};
  const instructions = instructionsOf(decision, state);
  const { assembly } = decision.budget;
  const prompt =
    assembly === 'prompt'
      ? promptOf(decision, { routed: instructions ?? [], context: context ?? [] }, state, costs)
      : undefined;
  const tokens =
    prompt === undefined
      ? spentTokens(decision, tokensOf(documents))
      : ofPrompt(spentTokens(decision, prompt.documents), prompt.tokens, context === undefined);
  return {
    ...(instructions !== undefined && { instructions }),
    tokens,
    leftOut: leftOutOf(decision, state, costs),
    costTokens: costTokensOf(decision, tokens),
    assembly,
    ...(decision.carried?.restarted && { restarted: true as const }),
    ...(prompt !== undefined && { prompt: prompt.text }),
  };
}

function ofPrompt(spent: AnswerTokens, tokens: number, isWithoutContext: boolean): AnswerTokens {
  return { ...spent, total: tokens + (isWithoutContext ? (spent.context ?? 0) : 0) };
}

/**
 * Returns what the answer to a decision said about its budget, and the tokens of definitions that were discovered since, beside
 * `tokens.total`; null: the request named no budget and wanted no instructions.
 */
export function answeredBudget(
  decision: Decision,
  state: CatalogState,
  costs: TokenCosts,
  context?: readonly string[],
): (BudgetedAnswer & { readonly discovered: number }) | null {
  if (!isBudgeted(decision)) return null;
  const first = withoutDiscoveries(decision);
  const documents = documentsOf(first, state, costs);
  const answer = budgetedAnswer(first, state, costs, documents, context) as BudgetedAnswer;
  const later = decision.slate.slice(first.slate.length);
  return { ...answer, discovered: later.reduce((sum, index) => sum + decision.budget.tokens[index], 0) };
}

function isBudgeted(decision: Decision): decision is BudgetedDecision {
  return decision.budget !== undefined;
}

/**
 * Returns the documents that are answered as members of tools, by the slate: what fits into the rest of the budget. There are none with
 * assembly `append`, where the rest belongs to the steps that follow.
 */
export function documentsOf(
  decision: Decision,
  { tools }: CatalogState,
  costs: TokenCosts,
): readonly ServedDocument[] {
  if (!isBudgeted(decision) || decision.budget.assembly !== 'parts') return [];
  const { slate, candidates, budget } = decision;
  const documents = slate.map((index) => {
    const record = tools.findServed(candidates[index]);
    return record === undefined ? [] : costs.document(record.tool);
  });
  const room = (budget.tokenBudget ?? Number.POSITIVE_INFINITY) - spentTokens(decision, 0).total;
  return fitDocuments(documents, room);
}

/** Returns what documents take together. */
export function tokensOf(documents: readonly ServedDocument[]): number {
  return documents.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Returns what the parts of a decision take; headings of a prompt are not among them. */
export function spentTokens(
  { slate, budget, instructions, context }: BudgetedDecision,
  documents: number,
): AnswerTokens {
  const tools = slate.reduce((sum, index) => sum + budget.tokens[index], 0);
  const overlay = instructions?.overlay.reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  const texts = instructions?.shown.reduce((sum, index) => sum + instructions.tokens[index], overlay) ?? 0;
  const items = context?.tokens?.reduce((sum, tokens) => sum + tokens, 0) ?? 0;
  return {
    ...{ slate: tools, instructions: texts, ...(items > 0 && { context: items }), documents },
    total: tools + texts + items + documents,
    monolithic: budget.monolithic,
  };
}

/** Best first, as the decision has it. */
function leftOutOf(
  { candidates, format, detail, budget, instructions }: BudgetedDecision,
  { tools }: CatalogState,
  costs: TokenCosts,
): LeftOut {
  return {
    tools: budget.leftOut.map((index): LeftOutTool => {
      const name = candidates[index];
      const tokens = budget.tokens[index];
      const record = detail === 'full' && tokens > budget.room ? tools.findServed(name) : undefined;
      const brief = record === undefined ? undefined : costs.tool(record.tool, format, 'brief');
      return { name, tokens, ...(brief !== undefined && brief <= budget.room && { brief }) };
    }),
    instructions: (instructions?.leftOut ?? []).map((index) => ({
      id: instructions!.ids[index],
      tokens: instructions!.tokens[index],
    })),
  };
}

function costTokensOf(
  { budget, carried }: Pick<BudgetedDecision, 'budget' | 'carried'>,
  { total }: AnswerTokens,
): CostTokens {
  if (budget.assembly !== 'append') return { written: total, read: 0, full: total };
  const read = carried?.read ?? 0;
  const written = total - read;
  return { written, read, full: Math.round(100 * (written * WRITE_PRICE + read * READ_PRICE)) / 100 };
}

/** The instructions are those of the table: what differs from that is in no decision that is answered (`withApprovedInstructions`). */
function instructionsOf(
  { instructions, carried, budget }: BudgetedDecision,
  { instructions: table }: CatalogState,
): RoutedInstruction[] | undefined {
  if (instructions === undefined) return undefined;
  const routed = (id: string, more: Pick<RoutedInstruction, 'tokens' | 'gain' | 'propensity'>) => {
    const { text = '', kind = 'policy' } = table.find(id)?.instruction ?? {};
    return {
      ...{ id, text: servedText(text), kind, ...more },
      ...(carried?.instructions.includes(id) && { carried: true }),
      ...(carried?.changedInstructions?.includes(id) && { changed: true }),
    };
  };
  const chosen = instructions.shown.map((index) =>
    routed(instructions.ids[index], {
      tokens: instructions.tokens[index],
      gain: instructions.gain[index],
      propensity: instructions.propensity[index],
    }),
  );
  const overlay = instructions.overlay.map(({ id, tokens }) =>
    routed(id, { tokens, gain: 0, propensity: 1 }),
  );
  if (budget.assembly !== 'append') return [...overlay, ...byPriority(chosen, table)];
  return inServedOrder([...overlay, ...chosen], carried);
}

function byPriority(
  chosen: readonly RoutedInstruction[],
  table: CatalogState['instructions'],
): readonly RoutedInstruction[] {
  const byId = new Map(chosen.map((one) => [one.id, one]));
  const records = chosen.map(({ id }) => table.find(id)).filter((record) => record !== undefined);
  return inPromptOrder(records).map(({ instruction: { id } }) => byId.get(id)!);
}

function promptOf(
  { slate, candidates, format, detail, budget, instructions }: BudgetedDecision,
  { routed, context }: { readonly routed: readonly RoutedInstruction[]; readonly context: readonly string[] },
  { tools }: CatalogState,
  costs: TokenCosts,
): AssembledPrompt {
  const always = instructions?.overlay.length ?? 0;
  const records = slate
    .map((index) => tools.findServed(candidates[index]))
    .filter((record) => record !== undefined);
  const parts = {
    overlay: routed.slice(0, always),
    instructions: routed.slice(always),
    context: context.map((text) => ({ text, tokens: costs.counter.count(text) })),
    tools: records.map(({ tool }) => ({
      text: textForModel(format, detail, tool),
      tokens: costs.tool(tool, format, detail),
      document: costs.document(tool),
    })),
  };
  return assemblePrompt(parts, budget.tokenBudget, costs.counter);
}
