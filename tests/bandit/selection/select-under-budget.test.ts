import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import {
  type BudgetedCandidates,
  type BudgetedRequest,
  type SelectedCandidates,
  type Selection,
  selectUnderBudget,
} from '../../../bandit/selection/select-under-budget.ts';

type Row = readonly [gain: number, tokens: number];

function candidates(rows: readonly Row[], limit: number, forced: readonly number[] = []): BudgetedCandidates {
  const gain = Float64Array.from(rows, ([value]) => value);
  return { gain, score: gain, tokens: Float64Array.from(rows, ([, tokens]) => tokens), forced, limit };
}

const NONE = candidates([], 0);

function request(more: Partial<BudgetedRequest>): BudgetedRequest {
  return {
    ...{ tools: NONE, instructions: NONE, budget: 100, method: 'exact', explore: true, temperature: 0.2 },
    random: randomFor('x'),
    ...more,
  };
}

function selectionOf(more: Partial<BudgetedRequest>): Selection {
  const selection = selectUnderBudget(request(more));
  if ('needed' in selection) throw new Error(`needs ${selection.needed}`);
  return selection;
}

const keyOf = ({ tools, instructions }: Selection) => `${tools.chosen} | ${instructions.chosen}`;

const rows = fc.array(
  fc.tuple(
    fc.integer({ min: -2, max: 10 }).map((tenths) => tenths / 10),
    fc.integer({ min: 0, max: 60 }),
  ),
  { maxLength: 9 },
);
const requests = fc
  .record({
    tools: rows,
    instructions: rows,
    most: fc.integer({ min: 0, max: 4 }),
    budget: fc.integer({ min: 0, max: 150 }),
  })
  .map(({ tools, instructions, most, budget }) => ({
    tools: candidates(tools, most, tools.length > 3 && tools[3][1] <= budget ? [3] : []),
    instructions: candidates(instructions, 2),
    budget,
  }));

/** Every outcome of one corpus's draw with its probability, as the definition says it, from the core and the room beside it. */
function outcomes(
  from: BudgetedCandidates,
  core: readonly number[],
  share: number,
  spared = 0,
): Map<string, number> {
  const counted = new Map<string, number>();
  const add = (indices: readonly number[], probability: number) => {
    const key = [...indices].sort().join();
    counted.set(key, (counted.get(key) ?? 0) + probability);
  };
  const places = core.length === 0 && spared === 0 ? [null] : core;
  const count = places.length + spared;
  if (spared > 0) add(core, spared / count);
  for (const place of places) {
    const rest = core.filter((index) => index !== place);
    const room = share + (place === null ? 0 : from.tokens[place]);
    const fits = [...from.gain.keys()].filter(
      (index) => !rest.includes(index) && !from.forced.includes(index) && from.tokens[index] <= room,
    );
    const weights = [1, ...fits.map((index) => Math.exp(from.score[index] / 0.2))];
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [at, weight] of weights.entries()) {
      add(at === 0 ? rest : [...rest, fits[at - 1]], weight / total / count);
    }
  }
  return counted;
}

const unforced = ({ forced }: BudgetedCandidates, { chosen }: SelectedCandidates) =>
  chosen.slice(forced.length);

describe('selecting under a budget', () => {
  it('keeps the budget and the limits, serves what is forced first, and its propensities add up', () => {
    fc.assert(
      fc.property(requests, fc.integer(), (one, seed) => {
        const { tools, instructions } = selectionOf({
          ...one,
          random: randomFor(`d${seed}`),
        });
        let cost = 0;
        for (const [from, got] of [
          [one.tools, tools],
          [one.instructions, instructions],
        ] as const) {
          for (const index of got.chosen) cost += from.tokens[index];
          expect(got.chosen.slice(0, from.forced.length)).toEqual(from.forced);
          expect(got.chosen.length - from.forced.length).toBeLessThanOrEqual(from.limit);
          expect(new Set(got.chosen).size).toBe(got.chosen.length);
          for (const index of got.chosen) expect(got.propensity[index]).toBeGreaterThan(0);
          for (const [index, p] of got.propensity.entries()) {
            expect(p >= 0 && p <= 1).toBe(true);
            if (from.forced.includes(index)) expect(p).toBe(1);
          }
        }
        expect(cost).toBeLessThanOrEqual(one.budget);
      }),
      { numRuns: 300 },
    );
  });

  it('has the propensities of all outcomes counted out, whatever was drawn from the other corpus', () => {
    fc.assert(
      fc.property(requests, fc.integer(), (one, seed) => {
        const core = selectionOf({ ...one, explore: false });
        const drawn = selectionOf({ ...one, random: randomFor(`d${seed}`) });
        let left = one.budget;
        for (const corpus of ['tools', 'instructions'] as const) {
          for (const index of core[corpus].chosen) left -= one[corpus].tokens[index];
        }
        const share = one.tools.limit > 0 ? Math.floor(left / 2) : 0;
        for (const [corpus, room] of [
          ['tools', share],
          ['instructions', left - share],
        ] as const) {
          if (one[corpus].limit === 0) continue;
          const counted = outcomes(one[corpus], unforced(one[corpus], core[corpus]), room);
          const expected = new Float64Array(one[corpus].gain.length);
          let total = 0;
          for (const [key, probability] of counted) {
            total += probability;
            for (const index of key.split(',')) if (index !== '') expected[Number(index)] += probability;
          }
          expect(total).toBeCloseTo(1, 12);
          for (const index of one[corpus].forced) expected[index] = 1;
          for (const [index, p] of drawn[corpus].propensity.entries()) {
            expect(p).toBeCloseTo(expected[index], 12);
          }
          const key = unforced(one[corpus], drawn[corpus]).sort().join();
          expect(Math.exp(drawn[corpus].logProbability)).toBeCloseTo(counted.get(key)!, 12);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('adds to a prompt that goes on what is worth its tokens, or needed most, of what it would have served', () => {
    const withNeed = fc
      .tuple(requests, fc.infiniteStream(fc.integer({ min: -20, max: 60 })))
      .map(([one, needs]) => {
        const needed = (corpus: BudgetedCandidates) => ({
          ...corpus,
          need: corpus.gain.map(() => needs.next().value! / 1000),
        });
        return {
          plain: one,
          goesOn: { ...one, tools: needed(one.tools), instructions: needed(one.instructions) },
        };
      });
    let spared = 0;
    fc.assert(
      fc.property(withNeed, fc.integer(), ({ plain, goesOn }, seed) => {
        const all = selectionOf({ ...plain, explore: false });
        const core = selectionOf({ ...goesOn, explore: false });
        const drawn = selectionOf({ ...goesOn, random: randomFor(`d${seed}`) });
        let left = plain.budget;
        for (const corpus of ['tools', 'instructions'] as const) {
          for (const index of all[corpus].chosen) left -= plain[corpus].tokens[index];
        }
        const share = plain.tools.limit > 0 ? Math.floor(left / 2) : 0;
        for (const [corpus, room] of [
          ['tools', share],
          ['instructions', left - share],
        ] as const) {
          const from = goesOn[corpus];
          const most = from.need.indexOf(Math.max(...from.need));
          const worth = unforced(from, all[corpus]).filter(
            (index) => index === most || from.need[index] * 2500 > from.tokens[index],
          );
          expect(unforced(from, core[corpus])).toEqual(worth);
          const none = all[corpus].chosen.length - core[corpus].chosen.length;
          spared += none;
          const counted = from.limit === 0 ? new Map([['', 1]]) : outcomes(from, worth, room, none);
          const expected = new Float64Array(from.gain.length);
          for (const [key, probability] of counted) {
            for (const index of key.split(',')) if (index !== '') expected[Number(index)] += probability;
          }
          for (const index of from.forced) expected[index] = 1;
          for (const [index, p] of drawn[corpus].propensity.entries()) {
            expect(p).toBeCloseTo(expected[index], 12);
            if (drawn[corpus].chosen.includes(index)) expect(p).toBeGreaterThan(0);
          }
          const key = unforced(from, drawn[corpus]).sort().join();
          expect(Math.exp(drawn[corpus].logProbability)).toBeCloseTo(counted.get(key)!, 12);
        }
      }),
      { numRuns: 300 },
    );
    expect(spared).toBeGreaterThan(50);
  });

  it('has the propensities of 60,000 draws, with the probability of each selection', () => {
    const tools = candidates(
      [
        [0.9, 40],
        [0.7, 30],
        [0.6, 35],
        [0.5, 60],
        [0.4, 10],
        [-0.1, 5],
        [0.3, 500],
      ],
      2,
      [4],
    );
    const instructions = candidates(
      [
        [0.3, 20],
        [0.25, 20],
        [0.2, 45],
      ],
      1,
    );
    const draws = 60_000;
    const shares = { tools: new Float64Array(7), instructions: new Float64Array(3) };
    const pairs = new Map<string, { count: number; logProbability: number }>();
    let last: Selection | null = null;
    for (let i = 0; i < draws; i++) {
      last = selectionOf({ tools, instructions, budget: 130, random: randomFor(`d${i}`) });
      for (const corpus of ['tools', 'instructions'] as const) {
        for (const index of last[corpus].chosen) shares[corpus][index] += 1 / draws;
      }
      const seen = pairs.get(keyOf(last));
      pairs.set(keyOf(last), {
        count: (seen?.count ?? 0) + 1,
        logProbability: last.tools.logProbability + last.instructions.logProbability,
      });
    }
    for (const corpus of ['tools', 'instructions'] as const) {
      for (const [index, share] of shares[corpus].entries()) {
        expect(Math.abs(share - last![corpus].propensity[index])).toBeLessThan(0.006);
      }
    }
    expect(last!.tools.propensity[4]).toBe(1);
    expect(last!.tools.propensity[6]).toBe(0);
    let total = 0;
    for (const { count, logProbability } of pairs.values()) {
      total += Math.exp(logProbability);
      expect(Math.abs(count / draws - Math.exp(logProbability))).toBeLessThan(0.006);
    }
    // Selections that 60,000 draws did not meet are rare.
    expect(total).toBeGreaterThan(0.999);
    expect(total).toBeLessThan(1 + 1e-9);
  });

  it('leaves every candidate that fits a chance, also one that is expected to harm, and none for certain', () => {
    const { instructions } = selectionOf({
      instructions: candidates(
        [
          [0.2, 30],
          [-0.1, 30],
          [0.1, 30],
        ],
        1,
      ),
    });
    for (const p of instructions.propensity) expect(p > 0 && p < 1).toBe(true);
    const alone = selectionOf({ instructions: candidates([[0.2, 30]], 1) });
    expect(alone.instructions.propensity[0] < 1).toBe(true);
  });

  it('serves what comes with a candidate, and states its probability: that of any that brings it', () => {
    // 0 brings 2 and 3, 1 brings 3; each row costs what it brings as well.
    const instructions = {
      ...candidates(
        [
          [0.3, 60],
          [0.25, 40],
          [0.1, 20],
          [0.05, 20],
          [0.02, 20],
        ],
        1,
      ),
      includes: [[2, 3], [3], [], [], []],
    };
    const draws = 20_000;
    const shares = new Float64Array(5);
    let last = selectionOf({ instructions, budget: 60 });
    for (let i = 0; i < draws; i++) {
      last = selectionOf({ instructions, budget: 60, random: randomFor(`d${i}`) });
      const { chosen } = last.instructions;
      if (chosen.includes(0)) expect(chosen).toEqual([0, 2, 3]);
      if (chosen.includes(1)) expect(chosen).toEqual([1, 3]);
      for (const index of chosen) shares[index] += 1 / draws;
    }
    const { propensity } = last.instructions;
    for (const [index, share] of shares.entries())
      expect(Math.abs(share - propensity[index])).toBeLessThan(0.01);
    expect(propensity[2]).toBeCloseTo(propensity[0], 12);
    expect(propensity[3]).toBeCloseTo(propensity[0] + propensity[1], 12);
  });

  it('pays once for what comes with a forced candidate, which is there for certain', () => {
    // 0 is forced and brings 1; there is room for it and for one of the others.
    const instructions = {
      ...candidates(
        [
          [0.1, 40],
          [0.9, 20],
          [0.3, 30],
          [0.2, 30],
        ],
        1,
        [0],
      ),
      includes: [[1], [], [], []],
    };
    const probabilities = new Map<string, number>();
    for (let i = 0; i < 500; i++) {
      const { instructions: got } = selectionOf({ instructions, budget: 70, random: randomFor(`d${i}`) });
      expect(got.chosen).toEqual(expect.arrayContaining([0, 1]));
      expect([...got.propensity.slice(0, 2)]).toEqual([1, 1]);
      probabilities.set([...got.chosen].sort().join(), Math.exp(got.logProbability));
    }
    expect(new Set(probabilities.keys())).toEqual(new Set(['0,1', '0,1,2', '0,1,3']));
    expect([...probabilities.values()].reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 9);
    const { instructions: best } = selectionOf({ instructions, budget: 70, explore: false });
    expect([...best.chosen].sort()).toEqual([0, 1, 2]);
  });

  it('says what was left out for its cost, and how much what is forced would need', () => {
    const tools = candidates(
      [
        [0.9, 400],
        [0.5, 40],
      ],
      2,
    );
    const { tools: got } = selectionOf({ tools, explore: false });
    expect(got).toEqual({ chosen: [1], propensity: Float64Array.of(0, 1), leftOut: [0], logProbability: 0 });
    expect(selectUnderBudget(request({ tools: { ...tools, forced: [0, 1] } }))).toEqual({ needed: 440 });
    const nothing = selectionOf({ tools, budget: 0 });
    expect(nothing.tools).toMatchObject({ chosen: [], propensity: Float64Array.of(0, 0), leftOut: [0, 1] });
  });
});
