import type { Decision } from './decision.ts';

/** What has to be known of a decision to take rewards for it: a thirtieth of all that is kept. */
export interface DecisionHead extends Pick<Decision, 'id' | 'catalog' | 'at' | 'deadline' | 'activatedAt'> {
  /** Names of the tools in its slate. */
  readonly shown: readonly string[];
}

export function headOf({
  id,
  catalog,
  at,
  deadline,
  activatedAt,
  slate,
  candidates,
}: Decision): DecisionHead {
  return { id, catalog, at, deadline, activatedAt, shown: slate.map((index) => candidates[index]) };
}
