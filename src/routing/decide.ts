import { randomFor } from '../../bandit/random.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Decision, DecisionContext } from '../decisions/decision.ts';
import { queryWithContext } from '../decisions/observed-decision.ts';
import { type AssignedVariant, assign, detailFor } from '../experiments/assign.ts';
import type { CatalogSettings } from '../ledger/catalog-settings.ts';
import { unitKey } from '../ledger/unit.ts';
import { type Carried, startedAnew } from './carried.ts';
import { findCandidates } from './find-candidates.ts';
import { recordDecision } from './record-decision.ts';
import type { RouteRequest } from './route-request.ts';
import { type DrawSettings, rankedBy, selectSlate } from './select-slate.ts';
import { selectSlateUnderBudget } from './select-under-budget.ts';
import type { TokenCosts } from './token-costs.ts';
import { slateMethodFor } from './toolscope-slate.ts';
import type { UnderstoodQuery } from './understand-query.ts';

export interface Question {
  /** Id of the decision; every draw is keyed by it. */
  readonly id: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly request: RouteRequest;
  readonly text: string;
  readonly query: UnderstoodQuery;
  /** What its answer would cost; absent: the request names neither a token budget nor instructions. */
  readonly costs?: TokenCosts;
  /** What was served before in its session or task, where it goes on with that. */
  readonly carried?: Carried;
  /** What its user has that it needs; absent: nothing is known of a user. */
  readonly context?: DecisionContext;
  /** What its answer has to say beside what is found out here. */
  readonly notes?: readonly string[];
}

/**
 * From an understood query to a decision: recall → candidates → rank → draw → record. Runs in one turn of the
 * event loop, on one state, and changes nothing. The simulator decides through the same function. Where what was served before leaves
 * no room within the budget, it is decided again with less of that.
 *
 * @param assigned the variant of an experiment that decides; null: the active policy does.
 */
export function decide(
  question: Question,
  catalog: Pick<Catalog, 'name' | 'state' | 'index' | 'instructionIndex'>,
  assigned: AssignedVariant | null = assign(question.request, question.id, catalog.state).assigned,
): Decision {
  const { id, request, query } = question;
  const { state } = catalog;
  const learner = assigned?.learner ?? state.learners.active;
  const asked =
    question.context === undefined || request.userId === undefined
      ? query.features
      : queryWithContext({
          ...{ query: query.features, unit: unitKey(request.userId) },
          ...{ at: question.at, context: question.context },
        });
  const recall = learner.policy.recall(asked);
  // Variants choose themselves: shadows rank beside a slate that they did not choose.
  const method = assigned === null ? slateMethodFor(request, state.settings) : 'policy';
  const found = findCandidates(request, query, recall, catalog, question.at, question.carried, method);
  const ranking = learner.policy.rank({
    query: asked,
    candidates: found.candidates,
    recall,
    random: randomFor(`${id}/rank`),
  });
  const settings = assigned === null ? state.settings : settingsOf(assigned, state.settings);
  const random = randomFor(`${id}/draw`);
  const { costs, carried } = question;
  const detail = detailFor(request, assigned, state.settings);
  const slate =
    costs === undefined
      ? selectSlate(request, found, ranking, settings, random, state.learners.kernels)
      : selectSlateUnderBudget({
          ...{ request, query, found, costs, catalog, random, carried, detail },
          context: question.context?.tokens ?? [],
          ranked: rankedBy(request, found, ranking, settings),
          temperature: settings.policy.temperature,
          policy: learner.settings,
        });
  if (slate === null) {
    const tokensOf = (name: string): number | undefined => {
      const record = state.tools.get(name);
      if (record === undefined || !state.tools.isServed(record)) return undefined;
      return costs!.tool(state.tools.served(record).tool, request.format, detail);
    };
    const less = startedAnew(carried!, request, detail, tokensOf);
    return decide({ ...question, carried: less }, catalog, assigned);
  }
  return recordDecision(question, { learner, assigned, found, ranking, slate, catalog });
}

function settingsOf({ variant, serves }: AssignedVariant, settings: CatalogSettings): DrawSettings {
  const killSwitch = settings.killSwitch || serves === 'killed';
  return { policy: variant.policy, killSwitch, retrievalOrder: serves === 'retrieval' };
}
