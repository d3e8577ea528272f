import type { ContextRanker } from '../../bandit/ranking/context-ranker.ts';
import type { TreeScorer } from '../../bandit/ranking/tree-scorer.ts';
import type { Decision, DecisionContext } from '../decisions/decision.ts';
import { Problem } from '../errors/problem.ts';
import { type AnsweredItem, answeredItem } from './answered-item.ts';
import { type ChosenItem, chooseContext } from './choose-context.ts';
import type { ContextQuery, Moment } from './context-candidates.ts';
import { policyFeatures } from './policy-features.ts';
import { exampleOf } from './training/context-example.ts';
import type { ContextExample } from './training/user-examples.ts';
import type { ItemsUse } from './use-recorder.ts';
import type { LoadedContext, UserContexts } from './user-contexts.ts';

/** A route waits no longer for what its user has: longer than a busy process takes to read it, shorter than anybody notices. */
const MOST_MS = 100;
/** Of a decision that is asked for again the items are part of the answer. */
const MOST_MS_AGAIN = 2_000;
const AWAY = 'What the user has cannot be read now: chosen without it.';
const LATE = `What the user has could not be read within ${MOST_MS} ms: chosen without it.`;
const NOT_NOW = 'What the user has cannot be read now: ask again for the items that were chosen then.';
const GONE_SINCE = 'What the user had is gone since: nothing was learned from `context`.';
const NOT_NOTED = 'What the user has cannot be reached now: nothing was learned from `context`.';
const GONE = 'Items that were chosen then are gone since, or what the user had was erased.';

/** The items of a decision that are still there, by their place in it, and why others are not. */
export interface ItemsAgain {
  readonly items: ReadonlyMap<number, AnsweredItem>;
  readonly note?: string;
}

/** What was read of a user in time, or why nothing was; null: nothing is kept. */
export type RouteUser = { readonly user: LoadedContext } | { readonly note: string } | null;

interface Sealed {
  readonly reasons: readonly (readonly string[])[];
  readonly place: string | null;
  readonly utcOffsetMinutes: number;
  /** Tools that looked right, with weights. */
  readonly tools: readonly (readonly [string, number])[];
}

/** Outcome of a decision, as far as it says how items were used. */
export interface ContextOutcome {
  readonly rewardId: string;
  /**
   * Ids of the items that were used, which need not have been chosen, empty: none was right; absent: the best one that was, once for the decision, if the outcome
   * is above 0. Of the others nobody knows, and what is wrong must not confirm itself.
   */
  readonly items?: readonly string[] | undefined;
  readonly tool: string | null;
  /** −1…1. */
  readonly outcome: number;
}

/** What routes need of users: read in time, chosen, answered again later, and noted as used. */
export class RouteContexts {
  readonly #contexts: UserContexts;
  readonly #rankerOf: (catalog: string) => ContextRanker | null;
  readonly #onError: (message: string, error: unknown) => void;
  readonly #scorer: TreeScorer;

  /** @param rankerOf null: items are ranked by their signals alone */
  constructor(
    contexts: UserContexts,
    rankerOf: (catalog: string) => ContextRanker | null,
    onError: (message: string, error: unknown) => void,
    scorer: TreeScorer,
  ) {
    this.#contexts = contexts;
    this.#rankerOf = rankerOf;
    this.#onError = onError;
    this.#scorer = scorer;
  }

  /** Never rejects, and takes 100 ms at most. */
  read(catalog: string, userId: string): Promise<RouteUser> {
    return inTime(
      this.#contexts.load(catalog, userId).then(
        (user): RouteUser => (user === null || user.items.length === 0 ? null : { user }),
        (error): RouteUser => {
          this.#onError('what a user has could not be read for a route', error);
          // Its message names no user: it says what is wrong with the key, or with the store.
          return { note: error instanceof Problem ? `${AWAY} ${error.message}` : AWAY };
        },
      ),
      MOST_MS,
      LATE,
    );
  }

  choose(user: LoadedContext, query: ContextQuery, moment: Moment, most: number): ChosenItem[] {
    return chooseContext(user, query, moment, most, this.#rankerOf(user.place.catalog), this.#scorer);
  }

  /** What the decision keeps of what was chosen. @param decisionId it can be opened with this decision alone */
  keep(
    { place: { user }, key }: LoadedContext,
    chosen: readonly ChosenItem[],
    { place, utcOffsetMinutes, tools }: Pick<Moment, 'place' | 'utcOffsetMinutes' | 'tools'>,
    decisionId: string,
  ): DecisionContext {
    const sealed: Sealed = {
      ...{ reasons: chosen.map(({ reasons }) => reasons), place, utcOffsetMinutes },
      tools: [...tools],
    };
    return {
      user,
      items: chosen.map(({ number, score }) => ({ number, score })),
      features: policyFeatures(chosen),
      sealed: key.seal(`decision ${decisionId}`, Buffer.from(JSON.stringify(sealed))).toString('base64'),
    };
  }

  /** Returns the items of a decision that are still there, with their texts of now, by their place among `kept.items`. */
  async again({
    id: decisionId,
    catalog,
    context: kept,
  }: Pick<Decision, 'id' | 'catalog' | 'context'>): Promise<ItemsAgain> {
    const items = new Map<number, AnsweredItem>();
    if (kept === undefined || kept.items.length === 0) return { items };
    const read = await inTime(
      this.#contexts.loadPlace({ catalog, user: kept.user }).then(
        (user): RouteUser => user && { user },
        (): RouteUser => ({ note: NOT_NOW }),
      ),
      MOST_MS_AGAIN,
      NOT_NOW,
    );
    if (read === null) return { items, note: GONE };
    if ('note' in read) return { items, note: read.note };
    const sealed = opened(read.user, decisionId, kept);
    if (sealed === null) return { items, note: GONE };
    const { key } = read.user;
    const byNumber = new Map(read.user.items.map((item) => [key.numberOf(item.id), item]));
    for (const [at, { number }] of kept.items.entries()) {
      const item = byNumber.get(number);
      if (item === undefined) continue;
      const said = { score: kept.items[at].score, reasons: sealed.reasons[at] };
      items.set(at, answeredItem(item, said, sealed.utcOffsetMinutes));
    }
    return items.size === kept.items.length ? { items } : { items, note: GONE };
  }

  /**
   * Notes how items were used in a decision, and keeps an example for training if that was said. Returns what a report named in vain,
   * as sentences by reward id. A failure is reported, and said so: an outcome counts without it.
   */
  async note(
    decision: NotedDecision,
    outcomes: readonly ContextOutcome[],
  ): Promise<ReadonlyMap<string, string>> {
    const { id, at, catalog, context, fingerprint, query } = decision;
    if (context === undefined) return new Map();
    const place = { catalog, user: context.user };
    try {
      const user = await this.#contexts.loadPlace(place);
      const sealed = user && opened(user, id, context);
      // Erased since: what comes too late says nothing about who comes back.
      if (sealed === null) return remarksOn(outcomes, () => GONE_SINCE);
      const { embedding } = query;
      const example = this.#exampleOf(user!, decision, sealed, outcomes);
      const asked = embedding === null || fingerprint === null ? undefined : { fingerprint, embedding };
      const uses = outcomes.map(({ rewardId, items, tool, outcome }): ItemsUse => {
        const best = outcome > 0 ? context.items.slice(0, 1).map(({ number }) => number) : [];
        return {
          key: items === undefined ? id : rewardId,
          items: items ?? best,
          tool: tool ?? undefined,
          place: sealed.place ?? undefined,
          query: asked,
          at, // when it was asked for: habits are of asking
          utcOffsetMinutes: sealed.utcOffsetMinutes,
        };
      });
      const noted = uses
        .map((use, at) => (at === 0 && example !== null ? { ...use, example } : use))
        .filter((use) => use.items.length > 0 || use.example !== undefined);
      await Promise.all(noted.map((use) => this.#contexts.recordUseAt(place, use)));
      const own = new Set(user!.items.map((item) => item.id));
      return remarksOn(outcomes, (named) => unknownItems(named.filter((item) => !own.has(item))));
    } catch (error) {
      this.#onError('a use of what a user has was not noted', error);
      return remarksOn(outcomes, () => NOT_NOTED);
    }
  }

  /** What was said of the items of one decision, taken together. Null: nothing was, or nothing can be learned from it. */
  #exampleOf(
    user: LoadedContext,
    { id, at, catalog, context, fingerprint, query: { embedding, terms } }: NotedDecision,
    { place, utcOffsetMinutes, tools }: Sealed,
    outcomes: readonly ContextOutcome[],
  ): ContextExample | null {
    const said = outcomes.flatMap(({ items }) => (items === undefined ? [] : [items]));
    const ranker = this.#rankerOf(catalog);
    if (said.length === 0 || ranker === null || context === undefined) return null;
    const query = { embedding, fingerprint, tokens: terms.terms };
    const moment = { now: at, place, utcOffsetMinutes, tools: new Map(tools) };
    const shown = context.items.map(({ number }) => number);
    return exampleOf(user, query, moment, { decision: id, used: said.flat(), shown }, ranker, this.#scorer);
  }
}

/** What noting a use reads of a decision. */
export type NotedDecision = Pick<Decision, 'id' | 'at' | 'catalog' | 'fingerprint' | 'query' | 'context'>;

/** Returns remarks by reward id. @param remarkOn what is to be said about these items; undefined: nothing */
function remarksOn(
  outcomes: readonly ContextOutcome[],
  remarkOn: (named: readonly string[]) => string | undefined,
): ReadonlyMap<string, string> {
  const remarks = new Map<string, string>();
  for (const { rewardId, items = [] } of outcomes) {
    const remark = items.length === 0 ? undefined : remarkOn(items);
    if (remark !== undefined) remarks.set(rewardId, remark);
  }
  return remarks;
}

const MOST_NAMED = 5;

function unknownItems(unknown: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined;
  const named = unknown.slice(0, MOST_NAMED).map((id) => JSON.stringify(id));
  const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : '';
  return `\`context\` names what the user does not have: ${named.join(', ')}${more}. Nothing was learned from that; send ids of items as they were put.`;
}

/** Null: it was sealed under a key that is erased. */
function opened({ key }: LoadedContext, decisionId: string, { sealed }: DecisionContext): Sealed | null {
  const bytes = key.open(`decision ${decisionId}`, Buffer.from(sealed, 'base64'));
  return bytes && (JSON.parse(bytes.toString()) as Sealed);
}

async function inTime(reading: Promise<RouteUser>, mostMs: number, note: string): Promise<RouteUser> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<RouteUser>((resolve) => {
    timer = setTimeout(() => resolve({ note }), mostMs);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
