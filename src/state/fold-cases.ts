import { SharedQuery } from '../../bandit/shared-query.ts';
import type { CasesEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldResult } from './fold-result.ts';

/** Ids of so many of the newest cases are kept; an older one that is sent again is taught again. */
const MOST_IDS = 100_000;

/**
 * Adds cases to the memory of every learner that is taught by decisions without an experiment, each id once. Nothing else learns from
 * them: nobody knows which other tools were shown, or how probable these were. Tools that are gone are left out.
 */
export function* foldCases(state: CatalogState, entry: CasesEntry): Generator<void, FoldResult> {
  if (entry.fingerprint !== state.fingerprint) return { kind: 'cases-refused', reason: 'stale' };
  let taught = 0;
  for (const { id, embedding, terms, outcomes, unit } of entry.cases) {
    if (state.taughtCases.has(id)) continue;
    const known = outcomes.flatMap(({ tool, value }) => {
      const slot = state.tools.find(tool)?.slot;
      return slot === undefined ? [] : [{ slot, reward: Math.min(1, Math.max(0, value)) }];
    });
    if (known.length === 0) continue;
    const query = new SharedQuery({ embedding, terms });
    for (const { policy } of state.learners.taughtBy()) policy.remember(query, known, entry.at, unit);
    state.taughtCases.add(id);
    taught++;
    yield;
  }
  for (const id of state.taughtCases) {
    if (state.taughtCases.size <= MOST_IDS) break;
    state.taughtCases.delete(id);
  }
  return { kind: 'cases', taught, known: entry.cases.length - taught };
}
