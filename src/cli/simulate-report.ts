import { studentQuantile } from '../../bandit/statistics/distributions.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Evaluation } from '../simulation/evaluate.ts';
import type { Prepared } from '../simulation/prepare.ts';
import { table } from './terminal.ts';

/** All evaluations of all runs of one policy. */
export interface SimulatedPolicy {
  readonly policy: PolicySettings;
  readonly runs: readonly (readonly Evaluation[])[];
}

interface SimulationSummary {
  readonly tools: number;
  readonly stream: Prepared;
  readonly measured: Prepared;
  readonly k: number;
  readonly results: readonly SimulatedPolicy[];
}

/** The learning curve of every policy, with 95 % intervals over the runs. */
export function simulationReport({ tools, stream, measured, k, results }: SimulationSummary): string {
  const runs = results[0].runs.length;
  const head = `${tools} tools; ${stream.queries.length} queries to learn from, ${measured.queries.length} held out; ${k} tools shown.\n`;
  const left = [...new Set([...stream.unknown, ...measured.unknown])];
  const unknown =
    left.length === 0 ? '' : `Left out, because no tool has these names: ${left.slice(0, 10).join(', ')}.\n`;
  const spread =
    runs < 2
      ? 'One run: no intervals.'
      : `± is a 95 % interval over ${runs} runs: orders of the queries and chances of the agent, not other queries.`;
  return `${head}${unknown}\n${results.map(curve).join('\n')}\n${spread}\n`;
}

function curve({ policy, runs }: SimulatedPolicy): string {
  const rows = runs[0].map((evaluation, at) => {
    const points = runs.map((run) => run[at]);
    return [
      at === 0 ? '  at first' : `  after ${evaluation.after}`,
      withInterval(points.map(({ recall }) => recall[5])),
      withInterval(points.map(({ complete }) => complete[5])),
      bar(mean(points.map(({ recall }) => recall[5]))),
    ];
  });
  const parameters = Object.entries(policy.parameters).map(([name, value]) => `${name} ${value}`);
  const title = [policy.name, ...parameters].join(', ');
  return table([[title, 'Recall@5', 'all found@5', ''], ...rows]);
}

function withInterval(values: readonly number[]): string {
  const centre = mean(values);
  if (values.length < 2) return centre.toFixed(3);
  const variance = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
  const half = studentQuantile(0.975, values.length - 1) * Math.sqrt(variance / values.length);
  return `${centre.toFixed(3)} ± ${half.toFixed(3)}`;
}

function bar(share: number): string {
  return '█'.repeat(Math.round(share * 40));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
