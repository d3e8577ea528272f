import type { ToolDefinition } from '../ledger/tool-definition.ts';

/** What a judge sees of a tool: its definition without what was learned about it, and the hash of it (`definitionHash`). */
export interface JudgedTool
  extends Pick<
    ToolDefinition,
    | 'name'
    | 'title'
    | 'description'
    | 'inputSchema'
    | 'outputSchema'
    | 'annotations'
    | 'tags'
    | 'server'
    | 'kind'
    | '_meta'
  > {
  readonly metadata?: ToolDefinition['metadata'];
  readonly hash: string;
}

/** Two tools to compare. The order says nothing: a verdict holds for both. */
export type Pair = readonly [JudgedTool, JudgedTool];

export type Relation = 'same' | 'overlapping' | 'different';

/** What a judge says about two tools. */
export interface PairVerdict {
  /**
   * `same`: whoever calls one could have called the other, with the arguments renamed. `overlapping`: some requests can be
   * answered by both, others by one only. `different`: no request can be answered by both.
   */
  readonly relation: Relation;
  /** How probable it is that the relation is right, 0…1. */
  readonly confidence: number;
  /** One sentence for whoever reviews the merge. */
  readonly reason: string;
}

/**
 * What an audit of a whole component says (ToolScope, appendix H.2). `clusters` are indices into the tools that were audited; none
 * is in two of them, each has at least two, and what is in none of them stays on its own. `UNDECIDED`: the judge failed, contradicted
 * itself or has spent what it may; nothing is merged, and the next pass asks again.
 */
export type Audit =
  | { readonly verdict: 'MERGE_OK'; readonly reason: string }
  | {
      readonly verdict: 'MERGE_BAD';
      readonly clusters: readonly (readonly number[])[];
      readonly reason: string;
    }
  | { readonly verdict: 'UNDECIDED'; readonly reason: string };

export type JudgeName = 'rules' | 'chat';

/** What a judge has asked so far. */
export interface JudgeSpending {
  /** Attempts. */
  readonly requests: number;
  /** Of questions and answers. */
  readonly tokens: number;
  /** Why the newest question that failed did; null: none failed. */
  readonly failure: string | null;
}

/** Says which tools do the same thing. What it could not decide is never taken for `same`. */
export interface Judge {
  readonly name: JudgeName;
  /** Absent: it asks nobody. */
  readonly spent?: JudgeSpending;

  /**
   * Compares pairs. Returns one verdict per pair, in order; null: not decided, because the judge failed, contradicted itself or
   * has spent what it may. @throws only the reason of `signal`
   */
  judgePairs(pairs: readonly Pair[], signal?: AbortSignal): Promise<(PairVerdict | null)[]>;

  /** Looks at all tools of a component at once. @throws only the reason of `signal` */
  audit(tools: readonly JudgedTool[], signal?: AbortSignal): Promise<Audit>;

  /**
   * Returns one description for tools that are merged, under the name of `tools[representative]`; null: none, and the merge
   * keeps a description of a member. @throws only the reason of `signal`
   */
  describe(
    tools: readonly JudgedTool[],
    representative: number,
    signal?: AbortSignal,
  ): Promise<{ readonly description: string } | null>;
}
