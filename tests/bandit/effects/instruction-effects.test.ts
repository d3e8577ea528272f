import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DrawnInstructions,
  explorationScores,
  InstructionEffects,
} from '../../../bandit/effects/instruction-effects.ts';
import { randomFor } from '../../../bandit/random.ts';
import { selectUnderBudget } from '../../../bandit/selection/select-under-budget.ts';

const SEEDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

describe('effects of instructions', () => {
  it('are what retrieval says until there is evidence', () => {
    const effects = new InstructionEffects();
    expect([...effects.gains([3, 90], [1, 0.5])]).toEqual([0.1, 0.05]);
    expect(effects.evidence(3)).toBe(0);
    expect(effects.learned(3)).toBeNull();
  });

  it('are told with their evidence, at the score that the outcomes had', () => {
    const effects = new InstructionEffects();
    const drawn = { slots: [3], propensity: [0.5], shown: [1] };
    for (let i = 0; i < 300; i++) effects.learn({ ...drawn, score: [i % 2 === 0 ? 0.4 : 0.8] }, 1, 0.5);
    const { effect, evidence } = effects.learned(3)!;
    expect(evidence).toBeCloseTo(300 / 4, 9);
    expect(effect).toBeCloseTo(effects.gains([3], [0.6])[0], 12);
    expect(effect).toBeGreaterThan(0.1);
    // It was always shown: chance had no part in it.
    effects.learn({ slots: [5], propensity: [1], score: [1], shown: [1] }, 1, 0.5);
    expect(effects.learned(5)).toBeNull();
  });

  it('equal the ridge regression on (s − p)·(1, S) for instructions that are drawn one at a time', () => {
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    const decision = fc.record({
      slot: fc.integer({ min: 0, max: 9 }),
      p: fc.double({ min: 0.02, max: 0.98, noNaN: true }),
      score: unit,
      shown: fc.constantFrom(0, 1),
      reward: unit,
      baseline: unit,
    });
    fc.assert(
      fc.property(fc.array(decision, { maxLength: 120 }), unit, (decisions, asked) => {
        const effects = new InstructionEffects();
        for (const { slot, p, score, shown, reward, baseline } of decisions) {
          effects.learn({ slots: [slot], propensity: [p], score: [score], shown: [shown] }, reward, baseline);
        }
        const rows = decisions.map((one) => ({ ...one, u: one.shown - one.p, y: one.reward - one.baseline }));
        const sum = (of: (row: (typeof rows)[number]) => number, slot?: number) =>
          rows.reduce((total, row) => total + (slot === undefined || row.slot === slot ? of(row) : 0), 0);
        const slope =
          (250 * 0.1 + sum(({ y, u, score }) => y * u * score)) /
          (250 + sum(({ u, score }) => (u * score) ** 2));
        expect(effects.slope).toBeCloseTo(slope, 12);
        for (let slot = 0; slot <= 9; slot++) {
          // By elimination: a from the first row, put into the second.
          const aa = 1000 + sum(({ u }) => u * u, slot);
          const ab = sum(({ u, score }) => u * u * score, slot);
          const bb = 100 + sum(({ u, score }) => u * u * score * score, slot);
          const ya = sum(({ y, u }) => y * u, slot);
          const yb = 100 * slope + sum(({ y, u, score }) => y * u * score, slot);
          const b = (yb - (ab / aa) * ya) / (bb - (ab / aa) * ab);
          const a = (ya - ab * b) / aa;
          expect(effects.gains([slot], [asked])[0]).toBeCloseTo(a + b * asked, 12);
        }
      }),
      { numRuns: 100 },
    );
  });

  it.each(SEEDS)('tell one that helps from one that is always near successes (%s)', (seed) => {
    const effects = new InstructionEffects();
    const random = randomFor(seed);
    let draws = 0;
    const uniform = (): number => random.uniform(draws++);
    for (let i = 0; i < 3000; i++) {
      // 1 is likelier to be shown where things go well anyway; it changes nothing. 0 helps by ten points.
      const isEasy = uniform() < 0.5;
      const propensity = [0.3 + 0.4 * uniform(), isEasy ? 0.8 : 0.2];
      const shown = propensity.map((p) => (uniform() < p ? 1 : 0));
      const success = uniform() < (isEasy ? 0.85 : 0.3) + 0.1 * shown[0] ? 1 : 0;
      effects.learn({ slots: [0, 1], propensity, score: [0.5, 0.5], shown }, success, isEasy ? 0.8 : 0.4);
    }
    const [helps, near] = effects.gains([0, 1], [0.5, 0.5]);
    expect(helps - near).toBeGreaterThan(0.03);
    expect(Math.abs(near)).toBeLessThan(0.06);
    expect(helps).toBeGreaterThan(0.04);
  });

  it.each(SEEDS)('tell apart those of which exactly one is shown each time (%s)', (seed) => {
    const effects = new InstructionEffects();
    const random = randomFor(seed);
    const quality = [0.7, 0.6, 0.6];
    for (let i = 0; i < 6000; i++) {
      const choice = Math.floor(3 * random.uniform(2 * i));
      const shown = quality.map((_, at) => (at === choice ? 1 : 0));
      const success = random.uniform(2 * i + 1) < quality[choice] ? 1 : 0;
      const third = 1 / 3;
      effects.learn(
        { slots: [0, 1, 2], propensity: [third, third, third], score: [1, 1, 1], shown },
        success,
        0.6,
      );
    }
    const [best, ...others] = effects.gains([0, 1, 2], [1, 1, 1]);
    for (const other of others) expect(best - other).toBeCloseTo(0.1, 1);
  });

  it.each(SEEDS)(
    'depend on how relevant an instruction is, and keep nothing relevant out elsewhere (%s)',
    (seed) => {
      // 0 helps by ten points with every other query, where it and 1 fit equally well; with the others 2 does, and 0 nothing.
      const queries = [
        { scores: [0.8, 0.8, 0.2, 0.3], effects: [0.1, 0, 0, 0] },
        { scores: [0.3, 0.2, 0.6, 0.3], effects: [0, 0, 0.1, 0] },
      ];
      const effects = new InstructionEffects();
      const slots = [0, 1, 2, 3];
      const NONE = { gain: new Float64Array(0), score: new Float64Array(0), tokens: new Float64Array(0) };
      const served = [0, 0];
      for (let i = 0; i < 3000; i++) {
        const { scores, effects: truth } = queries[i % 2];
        const random = randomFor(`${seed}/${i}`);
        const gain = effects.gains(slots, scores);
        const selection = selectUnderBudget({
          tools: { ...NONE, forced: [], limit: 0 },
          instructions: {
            gain,
            score: explorationScores(gain),
            tokens: new Float64Array(4).fill(10),
            forced: [],
            limit: 1,
          },
          ...{ budget: 10, method: 'exact', explore: true, temperature: 0.03, random },
        });
        if ('needed' in selection) throw new Error('nothing is forced');
        const { chosen, propensity } = selection.instructions;
        const shown = slots.map((slot) => (chosen.includes(slot) ? 1 : 0));
        const chance = 0.5 + shown.reduce((sum: number, one, slot) => sum + one * truth[slot], 0);
        effects.learn({ slots, propensity, score: scores, shown }, random.uniform(9) < chance ? 1 : 0, 0.55);
        const best = gain.indexOf(Math.max(...gain));
        if (i >= 2500 && best === [0, 2][i % 2]) served[i % 2]++;
      }
      expect(served).toEqual([250, 250]);
    },
  );

  it('learn nothing where chance had no part', () => {
    const effects = new InstructionEffects();
    const before = effects.save();
    effects.learn({ slots: [0, 1], propensity: [1, 0], score: [1, 1], shown: [1, 0] }, 1, 0.2);
    expect(effects.gains([0, 1], [1, 1])).toEqual(new InstructionEffects().gains([0, 1], [1, 1]));
    expect(effects.save()).toEqual(before);
  });

  it('are corrected as if the right reward had been learned at once', () => {
    const drawn = { slots: [2, 5], propensity: [0.4, 0.7], score: [0.3, 0.9], shown: [1, 0] };
    const [corrected, right] = [new InstructionEffects(), new InstructionEffects()];
    corrected.learn(drawn, 0.25, 0.5);
    corrected.correct(drawn, 0.75);
    right.learn(drawn, 1, 0.5);
    const [a, b] = [corrected, right].map((effects) => [...effects.gains([2, 5], [0.3, 0.9])]);
    for (const i of [0, 1]) expect(a[i]).toBeCloseTo(b[i], 14);
  });

  it('come back from their arrays bit for bit, and go on alike', () => {
    const effects = new InstructionEffects();
    const random = randomFor('save');
    const learn = (into: InstructionEffects, i: number): void => {
      const u = (at: number): number => random.uniform(8 * i + at);
      const drawn: DrawnInstructions = {
        slots: [i % 5, 40 + (i % 3)],
        propensity: [0.1 + 0.8 * u(0), 0.5],
        score: [u(1), u(2)],
        shown: [u(3) < 0.5 ? 0 : 1, u(4) < 0.5 ? 0 : 1],
      };
      into.learn(drawn, u(5), u(6));
    };
    for (let i = 0; i < 200; i++) learn(effects, i);
    const again = InstructionEffects.load(effects.save());
    for (let i = 200; i < 400; i++) for (const one of [effects, again]) learn(one, i);
    expect(again.save()).toEqual(effects.save());
    effects.scale(1, 0);
    expect(effects.gains([1], [0.5])[0]).toBe(effects.slope * 0.5);
  });

  it('keep evidence within bounds, and follow an effect that changes', () => {
    const effects = new InstructionEffects();
    const random = randomFor('drift');
    const learn = (from: number, effect: number): void => {
      for (let i = from; i < from + 8000; i++) {
        const shown = random.uniform(2 * i) < 0.5 ? 1 : 0;
        const success = random.uniform(2 * i + 1) < 0.5 + effect * shown ? 1 : 0;
        effects.learn({ slots: [0], propensity: [0.5], score: [1], shown: [shown] }, success, 0.5);
      }
    };
    learn(0, 0.2);
    expect(effects.gains([0], [1])[0]).toBeGreaterThan(0.12);
    learn(8000, -0.2);
    expect(effects.gains([0], [1])[0]).toBeLessThan(-0.08);
    expect(effects.evidence(0)).toBeLessThanOrEqual(1000);
  });

  it('refuse what is no number, and learn nothing of it', () => {
    const effects = new InstructionEffects();
    const good = { slots: [0], propensity: [0.5], score: [0.5], shown: [1] };
    const bad: [DrawnInstructions, number, number][] = [
      [good, Number.NaN, 0.5],
      [good, 1, 2],
      [{ ...good, propensity: [Number.NaN] }, 1, 0.5],
      [{ ...good, score: [Number.POSITIVE_INFINITY] }, 1, 0.5],
      [{ ...good, shown: [0.5] }, 1, 0.5],
      [{ ...good, shown: [] }, 1, 0.5],
    ];
    for (const [drawn, reward, baseline] of bad)
      expect(() => effects.learn(drawn, reward, baseline)).toThrow(RangeError);
    expect(() => effects.correct(good, Number.NaN)).toThrow(RangeError);
    expect(effects.save()).toEqual(new InstructionEffects().save());
  });
});
