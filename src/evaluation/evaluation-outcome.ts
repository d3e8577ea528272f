import type { Evaluation } from './evaluation.ts';
import type { Replay } from './replay.ts';

/** How far a replay is. */
export function countsOf(replay: Replay): Pick<Evaluation, 'decisions' | 'skipped'> {
  return { decisions: replay.decisions, skipped: { ...replay.skipped } };
}

/** What a replay found, and which candidate won. */
export function outcomeOf(replay: Replay): Partial<Evaluation> {
  const results = replay.results();
  const counts = { ...countsOf(replay), progress: 1 };
  if (replay.decisions === 0) return { status: 'refused', reason: whyNothing(replay), ...counts };
  const value = (name: string) =>
    results.find((result) => result.name === name)?.estimates.find(({ estimator }) => estimator === 'dr')
      ?.value;
  const judged = results.filter(({ kind, refusal }) => kind === 'candidate' && refusal === null);
  const [winner] = judged.sort((a, b) => (value(b.name) ?? 0) - (value(a.name) ?? 0));
  if (winner !== undefined) return { status: 'done', results, winner: winner.name, ...counts };
  const reason = results.find(({ kind }) => kind === 'candidate')?.refusal ?? null;
  return { status: 'refused', results, reason, ...counts };
}

const REASONS: readonly [keyof Replay['skipped'], string][] = [
  ['otherEmbedder', 'were logged with another embedding model, and what it learned cannot be compared'],
  ['unexplored', 'were served without drawing, so they have no propensities: log with exploration'],
  ['fallback', 'were fallbacks'],
  ['toolGone', 'had candidates that are forgotten by now'],
  ['decisionGone', 'have expired'],
  ['forLearning', 'were for learning alone: lower `learnShare`, or wait for more'],
];

function whyNothing({ skipped }: Replay): string {
  const parts = REASONS.filter(([kind]) => skipped[kind] > 0).map(([kind, why]) => `${skipped[kind]} ${why}`);
  if (parts.length === 0) return 'No decision with a reward has been logged.';
  return `Of the decisions with rewards, ${parts.join('; ')}.`;
}
