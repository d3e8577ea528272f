import type { RankingRequest } from '../policy.ts';
import type { PolicyKind } from './policy-kind.ts';
import { SEMANTIC_PARAMETERS, SemanticPolicy } from './semantic-policy.ts';

export const SC_LINUCB: PolicyKind = {
  name: 'sc-linucb',
  sentence:
    'The paper’s SC-LinUCB: one linear model of query, description and their similarity for all tools.',
  parameters: SEMANTIC_PARAMETERS,
  learns: true,
  defaultExploration: 'ucb',
  create: (context) => new ScLinUcb(context),
  load: (context, state) => new ScLinUcb(context, state),
};

/**
 * Algorithm 3 of the paper: score θᵀx + α·√(xᵀA⁻¹x). With one θ for all tools, e(q) and the bias are the same for
 * every candidate; what can be learned is which descriptions do well, whatever is asked. It needs few
 * observations, so it is the right choice where tools are few and new.
 */
class ScLinUcb extends SemanticPolicy {
  readonly name = 'sc-linucb';

  protected bonus(_request: RankingRequest, uncertainty: Float64Array): Float64Array {
    const { alpha } = this.context.parameters;
    const bonus = new Float64Array(uncertainty.length);
    for (let i = 0; i < bonus.length; i++) bonus[i] = alpha * uncertainty[i];
    return bonus;
  }
}
