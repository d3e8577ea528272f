import type { ApiClient } from './api-client.ts';
import type { Measurement } from './demo-run.ts';
import { table } from './table.ts';

export interface DemoResult {
  /** The same queries in the same order, before and after. */
  readonly before: readonly Measurement[];
  readonly after: readonly Measurement[];
  /** Recall of the queries it learned from, in the order in which they were asked. */
  readonly recalls: readonly number[];
}

interface Explanation {
  readonly candidates: readonly {
    readonly name: string;
    readonly rank: number | null;
    readonly base: number;
    readonly gain: number;
    readonly sentence: string;
  }[];
}

const BLOCKS = 24;

/** What the demo found, for people: figures, a sparkline, and the decision that improved most, explained. */
export async function demoReport(api: ApiClient, { before, after, recalls }: DemoResult): Promise<string> {
  const figures = table([
    [`On ${after.length} queries it never saw`, 'before', 'after', 'gain'],
    row('Recall@5', mean(before.map(({ recall }) => recall)), mean(after.map(({ recall }) => recall))),
    row('all tools found', completeShare(before), completeShare(after)),
  ]);
  return `${figures}
While it learned, Recall@5 of ${Math.ceil(recalls.length / BLOCKS)} queries a bar:  ${sparkline(recalls)}

${await improvedMost(api, before, after)}`;
}

/** Means of equal shares of the values, each as a bar between 0 and 1. */
export function sparkline(values: readonly number[]): string {
  const size = Math.ceil(values.length / BLOCKS);
  const bars = Array.from({ length: Math.ceil(values.length / size) }, (_, block) => {
    const share = mean(values.slice(block * size, (block + 1) * size));
    return '▁▂▃▄▅▆▇█'[Math.min(7, Math.floor(share * 8))];
  });
  return bars.join('');
}

async function improvedMost(
  api: ApiClient,
  before: readonly Measurement[],
  after: readonly Measurement[],
): Promise<string> {
  const gains = after.map(({ recall }, index) => recall - before[index].recall);
  const best = gains.indexOf(Math.max(...gains));
  if (!(gains[best] > 0)) return 'No query got better.\n';
  const { query, decisionId, slate } = after[best];
  const found = query.relevant.filter((tool) => slate.includes(tool) && !before[best].slate.includes(tool));
  const { candidates } = await api.get<Explanation>(`/v1/decisions/${decisionId}`);
  const reasons = candidates.filter(({ name }) => found.includes(name));
  return `Improved most: "${query.query}"
  before  ${before[best].slate.join(', ')}
  after   ${slate.join(', ')}
${reasons.map(explained).join('')}`;
}

function explained({ name, base, gain, sentence }: Explanation['candidates'][number]): string {
  return `  ${name}: ${base.toFixed(2)} to begin with, ${signed(gain, 2)} learned. ${sentence}\n`;
}

function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

function row(name: string, before: number, after: number): string[] {
  return [`  ${name}`, before.toFixed(3), after.toFixed(3), `${signed((after - before) * 100, 1)} points`];
}

function completeShare(measurements: readonly Measurement[]): number {
  return mean(measurements.map(({ recall }) => (recall === 1 ? 1 : 0)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
