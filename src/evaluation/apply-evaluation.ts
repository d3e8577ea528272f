import type { ExperimentDraft } from '../experiments/experiment-draft.ts';
import { Problem } from '../problem.ts';
import type { Candidate } from './evaluation.ts';

/** The draft with the winner of an evaluation in every challenger that names no policy. @throws Problem validation-failed */
export function applyEvaluation(draft: ExperimentDraft, winner: Candidate): ExperimentDraft {
  const against = draft.against ?? draft.variants.find(({ mode }) => mode !== 'shadow')?.name;
  const isMeant = ({ name, policy }: ExperimentDraft['variants'][number]): boolean =>
    policy === undefined && name !== against;
  if (!draft.variants.some(isMeant)) {
    const message =
      'Every challenger has a policy already: there is no variant for the winner of the evaluation.';
    throw new Problem('validation-failed', message, 'Leave the policy of one variant out.', {
      violations: [{ path: 'applyFromEvaluation', message }],
    });
  }
  const variants = draft.variants.map((variant) =>
    isMeant(variant) ? { ...variant, policy: winner.policy } : variant,
  );
  return { ...draft, variants };
}
