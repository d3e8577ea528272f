import type { DetailLevel } from '../ledger/catalog-settings.ts';

/** What was served before in a session or task, in the order in which it stands in the prompt. */
export interface Carried {
  /** Ids of the newest decisions whose prompt it is. */
  readonly from: readonly string[];
  readonly tools: readonly CarriedTool[];
  readonly instructions: readonly CarriedInstruction[];
}

export interface CarriedTool {
  readonly name: string;
  /** Of the definition that was served. */
  readonly hash: string;
  readonly detail: DetailLevel;
}

export interface CarriedInstruction {
  readonly id: string;
  /** Of the text that was served. */
  readonly hash: string;
}
