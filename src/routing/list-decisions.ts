import type { Catalog } from '../catalog/catalog.ts';
import type { Decision, Fallback } from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import { Problem } from '../errors/problem.ts';
import type { Outcome } from '../ledger/entry.ts';
import { unitKey } from '../ledger/unit.ts';
import type { KeptReward } from '../state/fold-result.ts';

/** Which decisions; a member that is absent leaves out none. */
export interface DecisionFilter {
  /** It was in the slate; by name or provider name. */
  readonly tool?: string;
  /** Something of this outcome was reported, of `tool` if that is given; `none`: nothing was reported. */
  readonly outcome?: Outcome | 'none';
  /** The user, unit or session that it was made for. */
  readonly unit?: string;
  /** `none`: those with the usual ranking. */
  readonly fallback?: Fallback | 'none';
  /** ISO times, both included. */
  readonly from?: string;
  readonly to?: string;
  /** A part of the query in any case, where the catalog retains texts. */
  readonly text?: string;
}

/** A decision in a list. */
export interface DecisionSummary {
  readonly decisionId: string;
  readonly at: string;
  readonly policy: Decision['policy'];
  readonly fallback: Fallback | null;
  readonly query?: string;
  /** Names of the slate, in order. */
  readonly tools: readonly string[];
  readonly activatedAt: string | null;
  /** What was reported; null: that is not known any more. */
  readonly rewards: readonly KeptReward[] | null;
}

export interface DecisionPage {
  readonly decisions: readonly DecisionSummary[];
  readonly nextCursor: string | null;
}

/** So many decisions are read for one page at most: each is some kilobytes. Then the page ends, however short it is. */
export const MAX_READ = 1_000;
/** Decisions of several processes, or made at once, may be in the log in another order than their times. */
const OUT_OF_ORDER_MS = 60_000;

/** Returns decisions of a catalog, newest first. @throws Problem validation-failed for a cursor of another log; StoreUnavailableError */
export async function listDecisions(
  catalog: Pick<Catalog, 'state'>,
  log: DecisionLog | null,
  filter: DecisionFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<DecisionPage> {
  const after = cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString();
  const logged = log === null ? [] : log.newestFirst(after);
  if (logged === null) throw unknownCursor();
  const matches = matcher(filter, catalog);
  const oldest = filter.from === undefined ? 0 : Date.parse(filter.from) - OUT_OF_ORDER_MS;
  const decisions: DecisionSummary[] = [];
  let read = 0;
  for await (const { decision, cursor: next } of logged) {
    if (decision.at < oldest) break;
    const summary = summaryOf(decision, catalog);
    if (matches(decision, summary)) decisions.push(summary);
    if (decisions.length === limit || ++read === MAX_READ) {
      return { decisions, nextCursor: Buffer.from(next).toString('base64url') };
    }
  }
  return { decisions, nextCursor: null };
}

function matcher(
  { tool, outcome, unit, fallback, from, to, text }: DecisionFilter,
  { state }: Pick<Catalog, 'state'>,
): (decision: Decision, summary: DecisionSummary) => boolean {
  const name = tool === undefined ? undefined : state.tools.nameOf(tool);
  const key = unit === undefined ? undefined : unitKey(unit);
  const [first, last] = [Date.parse(from ?? ''), Date.parse(to ?? '')];
  const wanted = text?.toLowerCase();
  return (decision, { tools, rewards }) => {
    if (decision.at < first || decision.at > last) return false;
    if (name !== undefined && !tools.includes(name)) return false;
    if (key !== undefined && decision.unit !== key) return false;
    if (fallback !== undefined && (decision.fallback ?? 'none') !== fallback) return false;
    if (wanted !== undefined && !decision.text?.toLowerCase().includes(wanted)) return false;
    if (outcome === undefined) return true;
    if (outcome === 'none') return rewards?.length === 0;
    const isThis = (reward: KeptReward): boolean => reward.outcome === outcome;
    return rewards?.some((reward) => isThis(reward) && (name === undefined || reward.tool === name)) ?? false;
  };
}

function summaryOf(decision: Decision, { state }: Pick<Catalog, 'state'>): DecisionSummary {
  const { id, at, policy, fallback, text, slate, candidates, activatedAt, deadline } = decision;
  const record = state.decisions.get(id);
  const isForgotten = record === undefined && state.decisions.mayBeDropped({ id, deadline });
  return {
    decisionId: id,
    at: new Date(at).toISOString(),
    policy,
    fallback,
    ...(text === undefined ? {} : { query: text }),
    tools: slate.map((index) => candidates[index]),
    activatedAt: activatedAt === null ? null : new Date(activatedAt).toISOString(),
    rewards: isForgotten ? null : [...(record?.rewards.values() ?? [])],
  };
}

function unknownCursor(): Problem {
  return new Problem(
    'validation-failed',
    'cursor: has to be the `nextCursor` of the page before.',
    'Leave it out to begin with the newest decision.',
    { violations: [{ path: 'cursor', message: 'has to be the `nextCursor` of the page before' }] },
  );
}
