/**
 * How much of a tool's definition an agent gets. names: the name alone. brief: also the beginning of the description, and
 * the names and types of the parameters. full: the definition as it was put.
 */
export const DETAIL_LEVELS = ['names', 'brief', 'full'] as const;
export type DetailLevel = (typeof DETAIL_LEVELS)[number];

/**
 * Who chooses the tools of a slate. policy: the policy, from what it has learned. toolscope: the retriever of ToolScope, the best tool
 * for each sub-query first; outcomes teach the policy all the same.
 */
export const SLATE_METHODS = ['policy', 'toolscope'] as const;
export type SlateMethod = (typeof SLATE_METHODS)[number];

/** What can be set per catalog; every change is a ledger entry. */
export interface CatalogSettings {
  readonly policy: PolicySettings;
  readonly rewards: RewardContract;
  /** A definition in which nothing but days and times of descriptions changed has not changed: the old one stays. */
  readonly ignoreDates: boolean;
  /** A closer look at what retrieval proposes, by a cross-encoder that was pulled; null: none. */
  readonly reranker: RerankerSettings | null;
  /**
   * How a query that asks for several things is taken apart: not at all, by the shape of its clauses, or by the
   * configured language model (which then sees the query's text).
   */
  readonly decomposition: 'none' | 'clauses' | 'llm';
  /**
   * Whether a query of a user who has items is expanded by the configured language model before they are searched (Context Tuning, appendix
   * A.6): it sees the query's text, and nothing else of the user.
   */
  readonly contextExpansion: 'off' | 'chat';
  /** Who chooses the tools of a slate, unless the request says otherwise. */
  readonly slate: SlateMethod;
  /** How much of each definition is served, unless the request or its variant of an experiment says otherwise. */
  readonly detail: DetailLevel;
  /** What a query gets when nothing fits: pins and the most reliable tools, nothing, or the whole catalog. */
  readonly failMode: 'open' | 'closed' | 'passthrough';
  /** τ, 0…1: a slate whose sufficiency is below it is not trusted to suffice. */
  readonly sufficiencyThreshold: number;
  /** Serve the retrieval order, whatever was learned. Learning goes on. */
  readonly killSwitch: boolean;
  /** Keep query texts with decisions and remembered cases. */
  readonly retainText: boolean;
  /** What was learned about a removed tool is forgotten after this many days. */
  readonly forgetRemovedAfterDays: number;
  /** Tools that are in every slate, or in those of one domain, in this order. */
  readonly pins: readonly Pin[];
  /** What queries can be about, as far as something depends on it. */
  readonly domains: readonly Domain[];
  /** How tools that do the same are found, and what becomes of what is found. */
  readonly merging: MergingSettings;
}

/** A tool by name, when its pin ends by itself (an ISO time), and the domain whose queries it is for; absent: all. */
export interface Pin {
  readonly tool: string;
  readonly until?: string;
  readonly domain?: string;
}

/** A kind of queries, by words, by examples, or by both. */
export interface Domain {
  readonly name: string;
  /** A query with any of these words or phrases is of it. */
  readonly words?: readonly string[];
  /** Queries of it, from which a classifier is trained that decides where no words do. */
  readonly examples?: readonly string[];
}

export interface MergingSettings {
  /** Who compares two tools: rules, which need no network, or the configured chat model. */
  readonly judge: 'rules' | 'chat';
  /** Least cosine of two tools that are compared, 0…1; null: what was chosen for the embedder. */
  readonly threshold: number | null;
  /** Least confidence, 0…1, of a merge that is approved without anybody; null: none is. */
  readonly autoApprove: number | null;
  /** Look again by itself when tools change. */
  readonly automatic: boolean;
}

/** Some of the settings, as a command carries them: the fold puts them over what there is then. */
export type SettingsPatch = Partial<Omit<CatalogSettings, 'rewards' | 'policy' | 'merging'>> & {
  readonly rewards?: Partial<RewardContract>;
  readonly merging?: Partial<MergingSettings>;
  readonly policy?: PolicyPatch;
};

/** Some of the settings of a policy. Without a name, or with that of the present one, the others stay as they are. */
export type PolicyPatch = Partial<PolicySettings>;

/** A policy by name with its parameters; an unknown name or parameter is an error. */
export interface PolicySettings {
  readonly name: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly exploration: 'plackett-luce' | 'ucb' | 'greedy';
  /** T of Plackett–Luce, > 0. */
  readonly temperature: number;
}

export interface RerankerSettings {
  /** Name of the model. */
  readonly model: string;
  /** How long a query waits for it, ms; after that the fused order stands. */
  readonly budgetMs: number;
}

export interface RewardContract {
  /** Seconds after the decision in which rewards are learned: 5 … 604,800. */
  readonly windowSeconds: number;
  /** Reward of every shown tool when nothing was reported by the deadline; null: nothing is learned then. */
  readonly defaultReward: number | null;
  /** How several rewards of the same tool in one decision become one. */
  readonly aggregation: 'first' | 'last' | 'sum' | 'mean';
  readonly onLate: 'log' | 'learn' | 'reject';
  /** Learning weight that one unit may put on one tool within an hour; more is counted but not learned. */
  readonly unitHourlyWeight: number;
}

export const DEFAULT_CATALOG_SETTINGS: CatalogSettings = {
  policy: { name: 'sc-linucb-memory', parameters: {}, exploration: 'plackett-luce', temperature: 0.03 },
  rewards: {
    windowSeconds: 600,
    defaultReward: null,
    aggregation: 'last',
    onLate: 'log',
    unitHourlyWeight: 600,
  },
  ignoreDates: false,
  reranker: null,
  decomposition: 'clauses',
  contextExpansion: 'off',
  slate: 'policy',
  detail: 'full',
  failMode: 'open',
  sufficiencyThreshold: 0.5,
  killSwitch: false,
  retainText: false,
  forgetRemovedAfterDays: 30,
  pins: [],
  domains: [],
  merging: { judge: 'rules', threshold: null, autoApprove: null, automatic: false },
};

/** Settings as they were stored, complete: a field that is younger than they are has its default. */
export function completeSettings(stored: CatalogSettings): CatalogSettings {
  return { ...DEFAULT_CATALOG_SETTINGS, ...stored };
}
