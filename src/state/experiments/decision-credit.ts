import type { MetricValue } from '../../../bandit/statistics/experiment-tally.ts';
import type { RewardContract } from '../../ledger/catalog-settings.ts';
import { type OutcomeReport, SILENT_OUTCOMES } from '../../ledger/entry.ts';

/** What was reported about one tool (or, with null, about the decision as a whole). */
export interface ToolCredit {
  readonly tool: string | null;
  readonly count: number;
  readonly sum: number;
  readonly first: number;
  readonly last: number;
}

/** What was reported about a decision, as experiments count it. Plain JSON. */
export interface Credit {
  readonly tools: readonly ToolCredit[];
  readonly latencyMs: MetricValue;
  readonly cost: MetricValue;
}

const NOTHING: MetricValue = { sum: 0, of: 0 };
export const EMPTY_CREDIT: Credit = { tools: [], latencyMs: NOTHING, cost: NOTHING };

/** Returns the credit of a report. Of outcomes that say nothing about relevance only latency and cost count. */
export function addReport(credit: Credit, report: OutcomeReport): Credit {
  const { tool, value, outcome, latencyMs, cost } = report;
  const silent = SILENT_OUTCOMES.has(outcome);
  return {
    tools: silent ? credit.tools : withValue(credit.tools, tool, value),
    latencyMs: withAmount(credit.latencyMs, latencyMs),
    cost: withAmount(credit.cost, cost),
  };
}

/** Returns the reward of a decision: the sum over its tools, each aggregated as the reward contract says. */
export function creditTotals(credit: Credit, aggregation: RewardContract['aggregation']) {
  const values = credit.tools.map(({ count, sum, first, last }) => {
    return { first, last, sum, mean: sum / count }[aggregation];
  });
  return {
    rewarded: values.length > 0 ? 1 : 0,
    reward: values.reduce((sum, value) => sum + value, 0),
    success: values.some((value) => value > 0) ? 1 : 0,
    latencyMs: credit.latencyMs,
    cost: credit.cost,
  };
}

function withValue(tools: readonly ToolCredit[], tool: string | null, value: number): readonly ToolCredit[] {
  const known = tools.find((other) => other.tool === tool);
  if (known === undefined) return [...tools, { tool, count: 1, sum: value, first: value, last: value }];
  const updated = { ...known, count: known.count + 1, sum: known.sum + value, last: value };
  return tools.map((other) => (other === known ? updated : other));
}

function withAmount({ sum, of }: MetricValue, amount: number | undefined): MetricValue {
  return amount === undefined ? { sum, of } : { sum: sum + amount, of: 1 };
}
