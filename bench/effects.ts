/**
 * What does an instruction add? Of two instructions one helps by ten points, and the other is likelier to be shown where things go well
 * anyway. How they are told apart, by decisions: by their learned effects, by crediting outcomes to what was shown, and by inverse propensity.
 *
 *   npx tsx bench/effects.ts [--seeds 50]
 *
 * Prints, per number of decisions, the mean difference (helps − near) with its standard deviation over the seeds, and how often it has
 * the right sign. True: .10.
 */
import { parseArgs } from 'node:util';
import { InstructionEffects } from '../bandit/effects/instruction-effects.ts';
import { randomFor } from '../bandit/random.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '50' } } });
const MARKS = [100, 300, 1000, 3000, 10_000];
const METHODS = ['effect', 'naive', 'inverse propensity'] as const;

const differences = new Map<string, number[]>();
for (let seed = 0; seed < Number(values.seeds); seed++) run(seed);
console.log(`decisions  ${METHODS.map((name) => name.padEnd(28)).join('')}`);
for (const mark of MARKS) {
  const cells = METHODS.map((name) => {
    const all = differences.get(`${name}/${mark}`)!;
    const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
    const deviation = Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length);
    const right = all.filter((one) => one > 0).length / all.length;
    return `${mean.toFixed(3)} ± ${deviation.toFixed(3)}  right ${(100 * right).toFixed(0)} %`.padEnd(28);
  });
  console.log(`${String(mark).padStart(9)}  ${cells.join('')}`);
}

function run(seed: number): void {
  const random = randomFor(`effects/${seed}`);
  const effects = new InstructionEffects();
  const naive = [0, 1].map(() => ({ sum: 0, count: 0 }));
  const inverse = [0, 0];
  for (let i = 0; i < MARKS[MARKS.length - 1]; i++) {
    const u = (at: number): number => random.uniform(4 * i + at);
    const isEasy = u(0) < 0.5;
    const propensity = [0.5, isEasy ? 0.8 : 0.2];
    const shown = propensity.map((p, at) => (u(1 + at) < p ? 1 : 0));
    const reward = u(3) < (isEasy ? 0.8 : 0.3) + 0.1 * shown[0] ? 1 : 0;
    // Half of what makes it easy is known before the draw.
    effects.learn({ slots: [0, 1], propensity, score: [0.5, 0.5], shown }, reward, isEasy ? 0.7 : 0.5);
    for (const at of [0, 1]) {
      naive[at].sum += shown[at] * reward;
      naive[at].count += shown[at];
      const p = propensity[at];
      inverse[at] += (shown[at] * reward) / p - ((1 - shown[at]) * reward) / (1 - p);
    }
    if (!MARKS.includes(i + 1)) continue;
    const [helps, near] = effects.gains([0, 1], [0.5, 0.5]);
    note('effect', i + 1, helps - near);
    note('naive', i + 1, naive[0].sum / naive[0].count - naive[1].sum / naive[1].count);
    note('inverse propensity', i + 1, (inverse[0] - inverse[1]) / (i + 1));
  }
}

function note(method: (typeof METHODS)[number], mark: number, difference: number): void {
  const key = `${method}/${mark}`;
  differences.set(key, [...(differences.get(key) ?? []), difference]);
}
