import { expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import {
  act,
  agentParameters,
  asksForMore,
  fitMonolith,
  PAPER_MONOLITH,
  type View,
} from '../../../bench/itr/agent.ts';

const parameters = agentParameters();
const DRAWS = 20_000;

function view(tools: number, instructions: readonly string[] = [], promptShare = 0): View {
  const names = ['right', ...Array.from({ length: tools - 1 }, (_, at) => `wrong ${at}`)];
  return { tools: names, instructions: new Set(instructions), promptShare };
}

function shareRight(seen: View, governing: readonly string[] = []): number {
  let right = 0;
  for (let at = 0; at < DRAWS; at++) {
    const { tool, garbled } = act(['right'], governing, seen, parameters, randomFor(`test/${at}`));
    if (tool === 'right' && !garbled) right++;
  }
  return right / DRAWS;
}

it('the fit finds the parameters that made the shares', () => {
  const made = [8, 40, 120].map((tools) => [tools, 1 / (1.2 + 0.015 * (tools - 1))] as const);
  const { constant, distractor } = fitMonolith(made);
  expect(constant).toBeCloseTo(0.2, 6);
  expect(distractor).toBeCloseTo(0.015, 6);
});

it('the monolith of the paper is met within five points at each size', () => {
  for (const [tools, share] of PAPER_MONOLITH) {
    const fitted = 1 / (1 + parameters.own + parameters.prompt + parameters.distractor * (tools - 1));
    expect(Math.abs(fitted - share)).toBeLessThan(0.05);
  }
});

it.each([1, 2, 8, 120])('chooses right of %d tools as often as equation 5 says', (tools) => {
  const { own, prompt, distractor } = parameters;
  const expected = 1 / (1 + own + prompt * 0.5 + distractor * (tools - 1));
  expect(shareRight(view(tools, [], 0.5))).toBeCloseTo(expected, 1.7);
});

it('misses instructions that govern the step, half of them less than all', () => {
  const shares = [['a', 'b'], ['a'], []].map((read) => shareRight(view(4, read), ['a', 'b']));
  const { own, distractor, unguided } = parameters;
  const expected = [1, (1 + unguided) / 2, unguided].map((alpha) => alpha / (alpha + own + 3 * distractor));
  for (const [at, share] of shares.entries()) expect(share).toBeCloseTo(expected[at], 1.7);
  expect(shareRight(view(4), [])).toBeCloseTo(shares[0], 1.7);
});

it('never calls a right tool that it does not see, and mostly notices that it is not there', () => {
  const hidden: View = { ...view(3), tools: ['wrong 0', 'wrong 1'] };
  const called = Array.from({ length: 500 }, (_, at) => {
    return act(['right'], [], hidden, parameters, randomFor(`test/${at}`)).tool;
  });
  expect(new Set(called)).toEqual(new Set(['wrong 0', 'wrong 1']));
  expect(act(['right'], [], { ...hidden, tools: [] }, parameters, randomFor('test')).tool).toBeNull();

  const asked = (seen: View) => {
    const draws = Array.from({ length: DRAWS }, (_, at) => randomFor(`test/${at}`));
    return draws.filter((random) => asksForMore(['right'], seen, parameters, random)).length / DRAWS;
  };
  expect(asked(hidden)).toBeCloseTo(0.8, 1.7);
  expect(asked(view(3))).toBeCloseTo(0.05, 1.7);
});
