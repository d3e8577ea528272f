import type { Entry, Position } from '../ledger/entry.ts';
import type { PositionedEntry } from '../ledger/ledger.ts';
import { atOnce } from '../scheduling/slices.ts';
import type { CatalogState } from './catalog-state.ts';
import { foldExposures } from './experiments/count-experiments.ts';
import { foldExperiment } from './experiments/fold-experiment.ts';
import { foldCases } from './fold-cases.ts';
import { foldInstructions } from './fold-instructions.ts';
import { foldEmbedder, foldForget, foldSettings, foldVersion } from './fold-learners.ts';
import { foldMergeRun } from './fold-merge-run.ts';
import { foldMerges } from './fold-merges.ts';
import { foldDiscovery, foldObservation, foldSettlement, foldUnlearned } from './fold-observation.ts';
import type { FoldResult } from './fold-result.ts';
import { foldSource } from './fold-sources.ts';
import { foldTools } from './fold-tools.ts';

/**
 * Folds one entry into the state; nothing else changes a state. Deterministic: no clock, no random source, no I/O; the same
 * entries give the same bits in every process. An entry at or before the state's position is ignored. A command whose key has
 * an answer gets that answer again; rewards and exposures have their own records of what was counted.
 */
export function fold(state: CatalogState, positioned: PositionedEntry): FoldResult {
  return atOnce(foldInSteps(state, positioned));
}

/** A fold that pauses at every `yield`. */
export type FoldSteps = Generator<void, FoldResult>;

/**
 * Folds one entry like `fold`, with a pause after every example that is learned and every tool that is put, for processes
 * that answer requests meanwhile. During a pause readers see a part of the entry, at the position and revision before it.
 * Nothing else may be folded until it has ended.
 */
export function* foldInSteps(state: CatalogState, { position, entry }: PositionedEntry): FoldSteps {
  if (position <= state.position) return { kind: 'ignored' };
  state.clock = Math.max(state.clock, entry.at);
  state.expire(entry.at);
  if (TEACHES.has(entry.kind)) state.taught = position;
  const outcome = yield* apply(state, entry, position);
  // Last, so that callers that wait for this position see all of the entry.
  state.position = position;
  return outcome;
}

function* apply(state: CatalogState, entry: Entry, position: Position): FoldSteps {
  switch (entry.kind) {
    // The record of the decision makes these exactly-once.
    case 'observation':
      return yield* foldObservation(state, entry);
    case 'settlement':
      return yield* foldSettlement(state, entry);
    case 'discovery':
      // The same discovery may come twice; what it teaches is kept in the record of its decision.
      return yield* once(state, entry, () => foldDiscovery(state, entry));
    case 'cases':
      return yield* foldCases(state, entry);
    case 'tools':
      return yield* once(state, entry, () => foldTools(state, entry, position));
    case 'instructions':
      return yield* once(state, entry, () => foldInstructions(state, entry, position));
    case 'source':
      return yield* once(state, entry, () => foldSource(state, entry, position));
    case 'merge-run':
      // How far it is may be said twice, and need not be remembered.
      if (entry.change.action === 'progress') return foldMergeRun(state, entry, position);
      return yield* once(state, entry, () => foldMergeRun(state, entry, position));
    case 'merges':
      return yield* once(state, entry, () => foldMerges(state, entry));
    case 'embedder':
      return yield* once(state, entry, () => foldEmbedder(state, entry));
    case 'forget':
      return yield* once(state, entry, () => foldForget(state, entry));
    case 'settings':
      return yield* once(state, entry, () => foldSettings(state, entry));
    case 'version':
      return yield* once(state, entry, () => foldVersion(state, entry));
    case 'experiment':
      return yield* once(state, entry, () => foldExperiment(state, entry));
    case 'exposures':
      return foldExposures(state, entry);
    case 'unlearned':
      return foldUnlearned(state, entry);
  }
}

/** Kinds of entries that can change a learner. */
const TEACHES: ReadonlySet<PositionedEntry['entry']['kind']> = new Set([
  'observation',
  'settlement',
  'discovery',
  'cases',
  'tools',
  'embedder',
  'forget',
]);

const REFUSALS: ReadonlySet<FoldResult['kind']> = new Set([
  'tools-refused',
  'instructions-refused',
  'source-refused',
  'merge-run-refused',
  'merges-refused',
  'settings-refused',
  'embedder-refused',
  'experiment-refused',
  'version-unknown',
  'version-stale',
]);

function* once(
  state: CatalogState,
  { key, content }: { key: string; content?: string },
  decide: () => FoldResult | FoldSteps,
): FoldSteps {
  const known = state.answers.get(key);
  if (known !== undefined) return known.content === content ? known.outcome : { kind: 'key-used' };
  const decided = decide();
  const outcome = 'next' in decided ? yield* decided : decided;
  // Refusals are not remembered: the same command may be sent again once its condition holds.
  if (REFUSALS.has(outcome.kind)) return outcome;
  state.remember(key, content === undefined ? { outcome } : { outcome, content });
  return outcome;
}
