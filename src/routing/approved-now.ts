import type { Decision, DecisionCarried, DecisionInstructions } from '../decisions/decision.ts';
import { promptFrame } from '../instructions/assemble-prompt.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { InstructionTable } from '../state/instruction-table.ts';
import { spentTokens } from './budgeted-answer.ts';
import type { TokenCosts } from './token-costs.ts';

/** A decision as it may be answered now, and in words what of it may not. */
export interface Answerable {
  readonly decision: Decision;
  readonly notes: readonly string[];
}

/**
 * Leaves the tools out of a decision whose definitions are other ones by now and do not fit into its budget any more, the last one first:
 * definitions are answered as they are. What the others take is counted as it is now. What `append` served stays where it is.
 */
export function withToolsThatFit(
  decision: Decision,
  state: Pick<CatalogState, 'instructions' | 'tools'>,
  costs: TokenCosts,
): Answerable {
  const { budget, slate, hashes, candidates, format, detail } = decision;
  if (budget === undefined || budget.assembly === 'append') return { decision, notes: [] };
  const records = slate.map((index) => state.tools.findServed(candidates[index]));
  const changed = [...slate.keys()].filter(
    (at) => records[at] !== undefined && records[at].hash !== hashes[at],
  );
  if (changed.length === 0) return { decision, notes: [] };
  const tokens = [...budget.tokens];
  for (const at of changed) tokens[slate[at]] = costs.tool(records[at]!.tool, format, detail);
  const without = (left: readonly number[]) => {
    const kept = [...slate.keys()].filter((at) => !left.includes(at));
    return {
      ...{ ...decision, budget: { ...budget, tokens }, slate: kept.map((at) => slate[at]) },
      ...{ hashes: kept.map((at) => hashes[at]), reasons: kept.map((at) => decision.reasons[at]) },
    };
  };
  const left: number[] = [];
  const limit = budget.tokenBudget ?? Number.POSITIVE_INFINITY;
  for (const at of changed.toReversed()) {
    const answered = without(left);
    if (spentTokens(answered, 0).total + frameOf(answered, state, costs) <= limit) break;
    left.push(at);
  }
  const notes = left.map(
    (at) => `Not served again: the tool "${candidates[slate[at]]}", which changed and does not fit any more`,
  );
  return { decision: without(left), notes };
}

/** Returns what a prompt takes beside the parts of a decision; 0: it has none. */
function frameOf(
  { budget, instructions, slate, candidates, context }: Decision,
  { instructions: table, tools }: Pick<CatalogState, 'instructions' | 'tools'>,
  costs: TokenCosts,
): number {
  if (budget?.assembly !== 'prompt') return 0;
  const { overlay = [], shown = [], ids = [] } = instructions ?? {};
  const texts = [
    ...[...overlay.map(({ id }) => id), ...shown.map((index) => ids[index])].map(
      (id) => table.find(id)?.instruction,
    ),
    ...slate.map((index) => tools.findServed(candidates[index])?.tool),
  ];
  const items = context?.items.length ?? 0;
  const numbered = items > 0 || texts.some((one) => one !== undefined && costs.hasDelimiter(one));
  const parts = { overlay: overlay.length, instructions: shown.length, context: items, tools: slate.length };
  return promptFrame(parts, numbered, costs.counter);
}

/**
 * Leaves the instructions out of a decision whose approved text is another one now, or which were withdrawn or removed: a decision that is
 * answered again, since its Idempotency-Key was sent again, may be older than that. Of the safety overlay what was changed and
 * approved is there as it is now, where the budget has room for it.
 */
export function withApprovedInstructions(
  decision: Decision,
  state: Pick<CatalogState, 'instructions' | 'tools'>,
  costs: TokenCosts,
): Answerable {
  const { instructions, budget, carried } = decision;
  const { instructions: table } = state;
  if (instructions === undefined || budget === undefined) return { decision, notes: [] };
  const { ids, hashes, overlay, shown } = instructions;
  const isServed = (id: string, hash: string): boolean => approved(id, table)?.hash === hash;
  if (
    overlay.every(({ id, hash }) => isServed(id, hash)) &&
    shown.every((index) => isServed(ids[index], hashes[index]))
  ) {
    return { decision, notes: [] };
  }
  const kept = shown.filter((index) => isServed(ids[index], hashes[index]));
  const notes = shown
    .filter((index) => !kept.includes(index))
    .map((index) => `${NOT_SERVED} "${ids[index]}"; ${SINCE}`);
  const as = (always: DecisionInstructions['overlay']): Decision & { readonly budget: typeof budget } => ({
    ...decision,
    budget,
    instructions: { ...instructions, overlay: always, shown: kept },
  });
  const same = overlay.filter(({ id, hash }) => isServed(id, hash));
  const frame = frameOf({ ...decision, instructions: { ...instructions, shown: kept } }, state, costs);
  let room = (budget.tokenBudget ?? Number.POSITIVE_INFINITY) - frame - spentTokens(as(same), 0).total;
  const always = overlay.flatMap((one) => {
    if (same.includes(one)) return [one];
    const record = approved(one.id, table);
    const tokens = record === undefined ? 0 : costs.instruction(record.instruction);
    const fits = record !== undefined && tokens <= room;
    if (fits) room -= tokens;
    notes.push(fits ? `Changed since: "${one.id}"; ${NOW}` : `${NOT_SERVED} "${one.id}"; ${SINCE}`);
    return fits ? [{ id: one.id, hash: record.hash, tokens }] : [];
  });
  const answered = as(always);
  return { decision: carried === undefined ? answered : { ...answered, carried: less(carried) }, notes };

  /** What was carried as far as it is served. Nothing of the instructions counts as read: what was in between is gone. */
  function less({ changedInstructions = [], read, ...more }: DecisionCarried): DecisionCarried {
    const served = new Set([...always.map(({ id }) => id), ...kept.map((index) => ids[index])]);
    const other = always.filter(({ id, hash }) => !overlay.some((one) => one.id === id && one.hash === hash));
    const here = more.instructions.filter((id) => served.has(id));
    const changed = new Set([...changedInstructions, ...other.map(({ id }) => id)]);
    const before = new Set(more.instructions);
    const taken = [
      ...overlay,
      ...shown.map((index) => ({ id: ids[index], tokens: instructions!.tokens[index] })),
    ].filter(({ id }) => before.has(id));
    return {
      ...{ ...more, instructions: here },
      ...(changed.size > 0 && { changedInstructions: here.filter((id) => changed.has(id)) }),
      read: Math.max(0, read - taken.reduce((sum, { tokens }) => sum + tokens, 0)),
    };
  }
}

const NOT_SERVED = 'Not served again: the instruction';
const SINCE =
  'what was decided then is not approved any more, or is another text by now. A request with a new `Idempotency-Key` has what is approved now.';
const NOW = 'this safety instruction is served as it is now.';

function approved(id: string, table: InstructionTable) {
  const record = table.get(id);
  return record?.instruction.status === 'approved' ? record : undefined;
}
