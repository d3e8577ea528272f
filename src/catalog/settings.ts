/** What can be set per catalog; every change is a ledger entry. */
export interface CatalogSettings {
  readonly policy: PolicySettings;
  readonly rewards: RewardContract;
  readonly failMode: 'open' | 'closed' | 'passthrough';
  /** Keep query texts with decisions. Off unless asked for. */
  readonly retainText: boolean;
}

/** A policy by name with its parameters; an unknown name or parameter is an error. */
export interface PolicySettings {
  readonly name: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly exploration: 'plackett-luce' | 'ucb' | 'greedy';
  /** T of Plackett–Luce, > 0. */
  readonly temperature: number;
}

export interface RewardContract {
  /** Seconds after the decision in which rewards are learned: 5 … 604,800. */
  readonly windowSeconds: number;
  /** Reward of every shown tool when nothing was reported by the deadline; null: nothing is learned then. */
  readonly defaultReward: number | null;
  /** How several rewards of the same tool in one decision become one. */
  readonly aggregation: 'first' | 'last' | 'sum' | 'mean';
  readonly onLate: 'log' | 'learn' | 'reject';
}
