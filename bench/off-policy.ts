/**
 * Can a policy that never ran be judged from the log of another one? Many candidate policies near the logging one,
 * each evaluated on a log of its own: does the 95 % interval of each estimator cover the true value (≥ 93 %)? Beside
 * it the textbook interval, and what happens when the log was made without exploration.
 *
 *   npx tsx bench/off-policy.ts [--policies 600] [--decisions 500,2000,8000] [--temperature 0.03]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  type Estimator,
  offPolicyDifference,
  offPolicyEstimates,
  refusalOf,
} from '../bandit/off-policy/off-policy-estimate.ts';
import { lineChart } from './line-chart.ts';
import { measuredOn } from './measured-on.ts';
import { type CandidatePolicy, LoggedWorld } from './off-policy/logged-world.ts';

const { values } = parseArgs({
  options: {
    policies: { type: 'string', default: '600' },
    decisions: { type: 'string', default: '500,2000,8000' },
    temperature: { type: 'string', default: '0.03' },
  },
});
const policies = Number(values.policies);
const sizes = values.decisions.split(',').map(Number);
const SITUATIONS = 400;
const SETTINGS = { alpha: 0.05, rewards: { lower: 0, upper: 1 }, comparisons: 1 };
const NORMAL_975 = 1.959963984540054;

/** One estimate of one policy, with the truth. */
interface Outcome {
  /** difference: from the logging policy. */
  readonly estimator: Estimator | 'difference';
  readonly refused: boolean;
  readonly truth: number;
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
  /** value ± 1.96 standard errors, without the two corrections. */
  readonly textbook: number;
}

function evaluate(world: LoggedWorld, candidates: readonly CandidatePolicy[], decisions: number): Outcome[] {
  const logging = world.loggingValue();
  return candidates.flatMap((policy, number) => {
    const tally = world.evaluate(policy, decisions, `${world.temperature} ${decisions} ${number}`);
    const refused = refusalOf(tally) !== null;
    const values = offPolicyEstimates(tally, SETTINGS).map((value) => ({ ...value, truth: policy.value }));
    const difference = {
      ...offPolicyDifference(tally, SETTINGS),
      estimator: 'difference' as const,
      truth: policy.value - logging,
    };
    return [...values, difference].map(({ standardError, ...estimate }) => ({
      ...estimate,
      refused,
      textbook: (NORMAL_975 * standardError) / Math.sqrt(tally.missingVariance),
    }));
  });
}

function summary(outcomes: readonly Outcome[], estimator: Outcome['estimator'], refused: boolean) {
  const rows = outcomes.filter((row) => row.estimator === estimator && row.refused === refused);
  const mean = (of: (row: Outcome) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  return {
    policies: rows.length,
    coverage: mean(({ lower, upper, truth }) => (lower <= truth && truth <= upper ? 1 : 0)),
    textbookCoverage: mean(({ value, textbook, truth }) => (Math.abs(value - truth) <= textbook ? 1 : 0)),
    bias: mean(({ value, truth }) => value - truth),
    rmse: Math.sqrt(mean(({ value, truth }) => (value - truth) ** 2)),
    width: mean(({ lower, upper }) => upper - lower),
    textbookWidth: mean(({ textbook }) => 2 * textbook),
  };
}

const ESTIMATORS: readonly Outcome['estimator'][] = ['ips', 'snips', 'dr', 'difference'];

function table(outcomes: readonly Outcome[], decisions: number) {
  return [false, true].flatMap((refused) =>
    ESTIMATORS.map((estimator) => ({
      decisions,
      refused,
      estimator,
      ...summary(outcomes, estimator, refused),
    })),
  );
}

function print(rows: ReturnType<typeof table>): void {
  console.table(
    rows
      .filter((row) => row.policies > 0)
      .map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, rounded(value)]))),
  );
}

function rounded(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toFixed(4)) : value;
}

const explored = new LoggedWorld(SITUATIONS, Number(values.temperature));
const candidates = Array.from({ length: policies }, (_, number) => explored.candidatePolicy(number));
const [least, most] = [Math.min, Math.max].map((pick) => pick(...candidates.map(({ value }) => value)));
console.log(
  `${policies} candidate policies worth ${least.toFixed(3)} to ${most.toFixed(3)} a decision; ` +
    `the logging policy ${explored.loggingValue().toFixed(3)} (Plackett–Luce, T ${values.temperature})`,
);
const withExploration = sizes.flatMap((decisions) => {
  const outcomes = evaluate(explored, candidates, decisions);
  const rows = table(outcomes, decisions);
  print(rows);
  if (decisions === sizes[Math.min(1, sizes.length - 1)]) picture(outcomes, decisions);
  return rows;
});

console.log('The same candidates from a log without exploration: what the refused estimates would have said');
const greedy = new LoggedWorld(SITUATIONS, null);
const decisions = sizes[Math.min(1, sizes.length - 1)];
const withoutExploration = table(evaluate(greedy, candidates, decisions), decisions);
print(withoutExploration);

mkdirSync('bench/results', { recursive: true });
const result = {
  ...measuredOn('npx tsx bench/off-policy.ts'),
  temperature: explored.temperature,
  policies,
  loggingValue: explored.loggingValue(),
  withExploration,
  withoutExploration,
};
writeFileSync('bench/results/off-policy.json', `${JSON.stringify(result, null, 2)}\n`);

/** Eighty policies from worst to best, compared with the logging one: the truth, and the interval that the log gives. */
function picture(outcomes: readonly Outcome[], decisions: number): void {
  const rows = outcomes
    .filter((row) => row.estimator === 'dr' && !row.refused)
    .slice(0, 80)
    .sort((a, b) => a.truth - b.truth);
  const logging = explored.loggingValue();
  const x = rows.map((_, i) => i + 1);
  const line = (label: string, y: (row: Outcome) => number, dashed = false) => ({
    label,
    x,
    y: rows.map((row) => y(row) - logging),
    dashed,
  });
  const svg = lineChart(
    [
      line('upper end of the interval', ({ upper }) => upper),
      line('true value', ({ truth }) => truth, true),
      line('estimate (doubly robust)', ({ value }) => value),
      line('lower end of the interval', ({ lower }) => lower),
    ],
    {
      title: `What a log of ${decisions} decisions says about policies that never ran`,
      xLabel: 'policies, from worst to best',
      yLabel: 'reward per decision, above the logging policy',
    },
  );
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/off-policy.svg', svg);
}
