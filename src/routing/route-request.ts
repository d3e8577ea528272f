import type { SlateFormat } from '../decisions/decision.ts';
import type { DetailLevel } from '../ledger/catalog-settings.ts';
import type { ContextValue } from '../ledger/experiment-definition.ts';

/** What an agent asks. The HTTP layer has filled in the defaults. */
export interface RouteRequest {
  /** Either the query itself or the conversation it ends; exactly one of the two. */
  readonly query?: string;
  readonly messages?: readonly unknown[];
  readonly catalog: string;
  readonly sessionId?: string;
  readonly unitId?: string;
  readonly userId?: string;
  /** The user turn or job that the query is a step of. */
  readonly task?: string;
  /** What is known about the request; experiments can be limited to some values. */
  readonly context?: Readonly<Record<string, ContextValue>>;
  /** 1…50. */
  readonly k: number;
  /** Tools that must be in the slate. */
  readonly pin?: readonly string[];
  /** Tools that must not be in it. */
  readonly exclude?: readonly string[];
  readonly format: SlateFormat;
  /** How much of each definition; absent: what its variant of an experiment says, else the catalog. */
  readonly detail?: DetailLevel;
  /** `later`: rewards count only after POST …/activate said that the slate was really shown. */
  readonly activate: 'now' | 'later';
  /** False: rank greedily; the decision still teaches. */
  readonly explore: boolean;
  /** False: outcomes are counted but nothing is learned from them. */
  readonly learn: boolean;
}
