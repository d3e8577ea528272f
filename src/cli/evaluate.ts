import { Command } from 'commander';
import type { Evaluation } from '../evaluation/evaluation.ts';
import { ApiClient } from './api-client.ts';
import { followJob } from './follow-job.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { readJson } from './read-text.ts';
import { counted, print, table } from './terminal.ts';

export function evaluateCommand(): Command {
  return asking(
    new Command('evaluate').description(
      'what would other policies have earned on the decisions that were logged?',
    ),
  )
    .argument(
      '<policy...>',
      'names of policies, versions that are kept, or one JSON file; - for standard input',
    )
    .addHelpText(
      'after',
      `
Examples:
  bandolier evaluate sc-linucb cosine
  bandolier evaluate grid.json          {"grid": {"policy": "sc-linucb", "parameters": {"alpha": [0.1, 0.3]}}}`,
    )
    .action(evaluate);
}

async function evaluate(policies: readonly string[], options: AskOptions): Promise<void> {
  const api = new ApiClient(serviceUrl(options.url));
  const path = `/v1/catalogs/${encodeURIComponent(options.catalog)}/evaluations`;
  const begun = await api.post<Evaluation>(path, await draftOf(policies));
  const evaluation = await followJob(begun, () => api.get<Evaluation>(`${path}/${begun.id}`));
  print(options.json, evaluation, evaluationText(evaluation));
  if (evaluation.status !== 'done') process.exitCode = 1;
}

async function draftOf(policies: readonly string[]): Promise<unknown> {
  const [file] = policies;
  if (policies.length > 1 || (file !== '-' && !file.endsWith('.json'))) {
    return { candidates: policies.map((policy) => ({ name: policy, policy })) };
  }
  return readJson(file);
}

/** An evaluation for a terminal: the numbers, then the winner and how to try it. */
export function evaluationText(evaluation: Evaluation): string {
  const { status, reason, decisions, results, winner, id } = evaluation;
  const rows = results.map(({ name, estimates, difference, effectiveSampleSize, refusal }) => [
    name,
    ...['dr', 'snips', 'ips'].map((estimator) =>
      withInterval(estimates.find((estimate) => estimate.estimator === estimator)),
    ),
    withInterval(difference),
    String(Math.round(effectiveSampleSize)),
    refusal ?? '',
  ]);
  const head = `Evaluation ${id} is ${status}: ${counted(decisions, 'decision')}.${reason === null ? '' : ` ${reason}`}\n`;
  const numbers =
    rows.length === 0
      ? ''
      : table([['POLICY', 'DR', 'SNIPS', 'IPS', 'MORE THAN WHAT RAN', 'WORTH DECISIONS', ''], ...rows]);
  return `${head}${numbers}${winner === null ? '' : `Best: ${winner}. Try it live:\n  ${experimentWith(evaluation)}\n`}`;
}

/** A command that creates an experiment with the winner of an evaluation. */
function experimentWith({ id, catalog }: Evaluation): string {
  const draft = {
    name: `evaluation-${id.slice(0, 8)}`,
    unit: 'decision',
    variants: [
      { name: 'now', share: 90 },
      { name: 'winner', share: 10 },
    ],
    applyFromEvaluation: id,
  };
  return `echo '${JSON.stringify(draft)}' | bandolier experiment create - --catalog ${catalog}`;
}

function withInterval(found: { value: number; lower: number; upper: number } | null | undefined): string {
  if (found == null) return '–';
  return `${found.value.toFixed(3)} (${found.lower.toFixed(3)} … ${found.upper.toFixed(3)})`;
}
