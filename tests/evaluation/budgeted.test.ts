import { expect, it } from 'vitest';
import type { Candidates } from '../../bandit/policy.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { evaluatedSlate, SlateCandidates } from '../../src/evaluation/evaluated-slate.ts';
import { BASELINES, candidateTarget } from '../../src/evaluation/target.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { RoutedCatalog } from '../routing/routed-catalog.ts';
import { instruction, putInstructions } from '../state/entries.ts';

const kernels = createTypescriptKernels();

async function logged(more = {}): Promise<{ catalog: RoutedCatalog; decision: Decision }> {
  const catalog = new RoutedCatalog(8, { policy: { name: 'hybrid', exploration: 'plackett-luce' } });
  catalog.story.tell(
    putInstructions([
      instruction('s', { kind: 'safety', status: 'approved', text: 'never' }),
      ...['t1', 't2', 't3'].map((id) => instruction(id, { status: 'approved', text: `does ${id}` })),
    ]),
  );
  const request = { k: 3, tokenBudget: 16, instructions: true, explore: true, pin: ['t6'], ...more };
  const { decisionId } = await catalog.route(request);
  return { catalog, decision: await catalog.routing.find(decisionId) };
}

function targetsOf(catalog: RoutedCatalog, decision: Decision) {
  const slate = evaluatedSlate(decision, catalog.state);
  if (typeof slate === 'string') throw new Error(slate);
  const candidates: Candidates = new SlateCandidates().of(slate, catalog.state.merges);
  return { slate, candidates };
}

it('the policy that decided has the probabilities that were logged, under the same budget', async () => {
  for (const more of [{}, { tokenBudget: 40 }, { instructions: false }, { tokenBudget: undefined }]) {
    const { catalog, decision } = await logged(more);
    const { slate, candidates } = targetsOf(catalog, decision);
    const { active } = catalog.state.learners;
    const target = candidateTarget(active, catalog.state.settings.policy, kernels)(slate, candidates);
    expect(Float32Array.from(target)).toEqual(decision.columns.propensity);
  }
});

it('that is so in a session too, where carried tools take the place of others, and of prompts', async () => {
  const catalog = new RoutedCatalog(8, { policy: { name: 'hybrid', exploration: 'plackett-luce' } });
  const ask = { k: 3, tokenBudget: 300, explore: true } as const;
  const steps = [
    ...['t1', 't2', 't1', 't5'].map((tool) => ({ query: `does ${tool}`, sessionId: 's' })),
    { query: 'does t3', assembly: 'prompt', format: 'mcp' } as const,
  ];
  let carried = 0;
  let drawn = 0;
  for (const step of steps) {
    const { decisionId } = await catalog.route({ ...ask, ...step });
    const decision = await catalog.routing.find(decisionId);
    carried += decision.carried?.tools ?? 0;
    // Where the best are all there, or nothing new was worth its tokens, nothing was drawn.
    if (decision.columns.propensity.every((p) => p === 0 || p === 1)) continue;
    drawn += 1;
    const { slate, candidates } = targetsOf(catalog, decision);
    const { active } = catalog.state.learners;
    const target = candidateTarget(active, catalog.state.settings.policy, kernels)(slate, candidates);
    expect(Float32Array.from(target)).toEqual(decision.columns.propensity);
  }
  expect(carried).toBeGreaterThan(3);
  expect(drawn).toBeGreaterThan(1);
});

it('every policy has the pins and keeps within the budget', async () => {
  const { catalog, decision } = await logged();
  const { slate, candidates } = targetsOf(catalog, decision);
  const pinned = decision.candidates.indexOf('t6');
  for (const name of ['retrieval', 'uniform']) {
    const target = BASELINES[name](slate, candidates);
    expect(target[pinned]).toBe(1);
    // Tools take two tokens each: what the budget leaves beside the overlay has room for so many at most.
    expect(target.reduce((sum, p) => sum + p, 0)).toBeLessThanOrEqual(3 + 1e-9);
  }
  expect([...BASELINES.retrieval(slate, candidates)].every((p) => p === 0 || p === 1)).toBe(true);
});
