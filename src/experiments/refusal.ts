import { Problem, type ProblemCode } from '../problem.ts';
import type { ExperimentRefusal } from '../state/outcome.ts';

const PROBLEMS: Record<ExperimentRefusal, { readonly code: ProblemCode; readonly fix: string }> = {
  exists: { code: 'experiment-exists', fix: 'Choose another name; GET the experiment to see what it is.' },
  unknown: { code: 'experiment-not-found', fix: 'GET …/experiments lists them.' },
  'too-many': { code: 'experiment-conflict', fix: 'Use another catalog for further experiments.' },
  status: { code: 'experiment-conflict', fix: 'GET the experiment: `history` says what happened to it.' },
  overlap: {
    code: 'experiment-overlap',
    fix: 'Change `layer`, `unit`, `traffic` or `target`, or stop the other one.',
  },
  shares: {
    code: 'validation-failed',
    fix: 'Give every variant that serves a share; together they are 100 %.',
  },
  variant: { code: 'validation-failed', fix: 'Use the name of a variant that serves.' },
  start: {
    code: 'validation-failed',
    fix: 'Create it with `startsFrom: "cold"` or "kept" for that variant.',
  },
  'sample-ratio': {
    code: 'sample-ratio-mismatch',
    fix: 'Find out which units are lost or counted twice (redirects, crashes, activation in one variant only), then start a new experiment.',
  },
  'no-winner': { code: 'no-winner', fix: 'Go on, or name the variant to promote: {"variant": "…"}.' },
};

/** What the fold refused, in the words of the API. */
export function refusalProblem(reason: ExperimentRefusal, sentence: string): Problem {
  const { code, fix } = PROBLEMS[reason];
  return new Problem(code, sentence, fix);
}
