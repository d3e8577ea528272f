import type { ExplainedCandidate } from './explanation.ts';

/** One sentence a person can act on: what outcomes say, what retrieval says, and what chance added. */
export function sentenceFor(candidate: Omit<ExplainedCandidate, 'sentence'>): string {
  const parts = [...outcomes(candidate), retrieval(candidate), ...circumstances(candidate)];
  const sentence = parts.join('; ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

/** Outcomes near this query weigh at least this much before they are put into words. */
const WORTH_SAYING = 0.25;
/** Outcomes count by similarity; from here on their weighted number reads as a number of times. */
const COUNTABLE = 1.5;

function outcomes({ features, trials }: Omit<ExplainedCandidate, 'sentence'>): string[] {
  const { vote } = features;
  if (vote === undefined || trials < WORTH_SAYING) return [];
  // vote = positives / (trials + 1)
  const positives = vote * (trials + 1);
  if (trials < COUNTABLE) {
    return [positives >= trials / 2 ? 'worked for a similar request' : 'did not help with a similar request'];
  }
  return [`worked ${Math.round(positives)} of ${Math.round(trials)} times for similar requests`];
}

function retrieval({ retrievalRank, rank }: Omit<ExplainedCandidate, 'sentence'>): string {
  const place = ordinal(retrievalRank);
  if (rank !== null && rank === retrievalRank) return `the description alone ranks it ${place} as well`;
  return `the description alone would rank it ${place}`;
}

function circumstances({ reason, rank, propensity }: Omit<ExplainedCandidate, 'sentence'>): string[] {
  if (reason === 'pinned') return ['pinned by the request'];
  if (reason === 'explored') return [`shown to try it out (chance ${Math.round(propensity * 100)} %)`];
  if (rank === null) return ['not shown this time'];
  return [];
}

function ordinal(place: number): string {
  const teen = place % 100 >= 11 && place % 100 <= 13;
  const ending = teen ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${place}${ending}`;
}
