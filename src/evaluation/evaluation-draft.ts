import type { Catalog } from '../catalog/catalog.ts';
import { Problem } from '../errors/problem.ts';
import { policyOf, type VariantDraft } from '../experiments/experiment-draft.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import { isSamePolicy } from '../state/policy-settings.ts';
import type { Candidate } from './evaluation.ts';

/** What is to be evaluated. */
export interface EvaluationDraft {
  readonly candidates?:
    | readonly {
        readonly name?: string | undefined;
        readonly policy?: VariantDraft['policy'];
      }[]
    | undefined;
  /** Every combination of these values is a candidate. */
  readonly grid?:
    | {
        readonly policy: string;
        readonly parameters?: Readonly<Record<string, readonly number[]>> | undefined;
        readonly exploration?: PolicySettings['exploration'] | undefined;
        readonly temperature?: readonly number[] | undefined;
      }
    | undefined;
  /** Probability that an interval misses the true value. */
  readonly alpha?: number | undefined;
  /**
   * Share of the log from which the candidates learn, 0…1; they are judged by the rest. Absent or 1: they learn from
   * every decision, and are judged by each of them before they have learned from it.
   */
  readonly learnShare?: number | undefined;
}

/** Each candidate has its own learner, which takes megabytes and time. */
export const MAX_CANDIDATES = 24;

/** Returns the candidates of a draft. @throws Problem validation-failed or unknown-policy */
export function candidatesOf({ candidates = [], grid }: EvaluationDraft, catalog: Catalog): Candidate[] {
  const named = candidates.map(({ name, policy }, index): Candidate => {
    const settings =
      policy === undefined
        ? catalog.state.settings.policy
        : policyOf(policy, catalog, `candidates[${index}].policy`);
    return { name: name ?? describe(settings), policy: settings };
  });
  const all = [...named, ...(grid === undefined ? [] : gridOf(grid, catalog))];
  if (all.length === 0 || all.length > MAX_CANDIDATES) {
    throw refused(`These are ${all.length} candidates; 1 to ${MAX_CANDIDATES} can be evaluated at a time.`);
  }
  const names = new Set(all.map(({ name }) => name));
  if (names.size < all.length) throw refused('Two candidates have the same name, or are the same.');
  for (const [i, one] of all.entries()) {
    const other = all.slice(0, i).find(({ policy }) => isSamePolicy(policy, one.policy));
    if (other !== undefined) {
      throw refused(`"${other.name}" and "${one.name}" are the same policy once defaults are filled in.`);
    }
  }
  return all;
}

function gridOf(grid: NonNullable<EvaluationDraft['grid']>, catalog: Catalog): Candidate[] {
  let combinations: Record<string, number>[] = [{}];
  const axes = Object.entries(grid.parameters ?? {});
  const size = axes.reduce((product, [, values]) => product * values.length, grid.temperature?.length ?? 1);
  if (size > MAX_CANDIDATES) {
    throw refused(`The grid has ${size} points; at most ${MAX_CANDIDATES} can be evaluated at a time.`);
  }
  for (const [parameter, values] of axes) {
    combinations = combinations.flatMap((point) => values.map((value) => ({ ...point, [parameter]: value })));
  }
  return combinations.flatMap((parameters) =>
    (grid.temperature ?? [undefined]).map((temperature) => {
      const { policy: name, exploration } = grid;
      const more = { ...(exploration && { exploration }), ...(temperature && { temperature }) };
      const settings = policyOf({ name, parameters, ...more }, catalog, 'grid');
      return { name: describe(settings), policy: settings };
    }),
  );
}

/** `sc-linucb alpha=0.1 T=0.03`. */
function describe({ name, parameters, exploration, temperature }: PolicySettings): string {
  const set = Object.entries(parameters).map(([parameter, value]) => `${parameter}=${value}`);
  return [name, ...set, exploration === 'plackett-luce' ? `T=${temperature}` : exploration].join(' ');
}

function refused(message: string): Problem {
  return new Problem('validation-failed', message, 'Change `candidates` or `grid`.', {
    violations: [{ path: 'candidates', message }],
  });
}
