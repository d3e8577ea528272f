import { Command } from 'commander';
import type { RouteAnswer } from '../routing/route-answer.ts';
import { ApiClient } from './api-client.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { print, table } from './terminal.ts';

export function routeCommand(): Command {
  return asking(new Command('route').description('ask for the tools that a query needs'))
    .argument('<query>', 'what a user wants')
    .option('--k <number>', 'how many tools', wholeNumber(1, 50), 5)
    .option('--unit <id>', 'the user, unit or session that asks')
    .option('--greedy', 'try nothing out: rank by what is known')
    .addHelpText(
      'after',
      `
The decision is recorded like that of an agent. Without a reward it teaches nothing.

SCORE is the expected reward and a bonus for what is not known yet. The slate is drawn at random around it, so scores need not fall
from line to line (--greedy draws nothing). CHANCE is the probability with which the tool came into the slate. WHY: its text was
retrieved, it is remembered from similar queries, it is explored to learn about it, or it is pinned.

Examples:
  bandolier route "the customer wants their money back"
  bandolier route "where is my parcel" --k 3 --json | jq -r .decisionId`,
    )
    .action(route);
}

interface RouteOptions extends AskOptions {
  readonly k: number;
  readonly unit?: string;
  readonly greedy?: boolean;
}

async function route(query: string, { catalog, k, unit, greedy, url, json }: RouteOptions): Promise<void> {
  const answer = await new ApiClient(serviceUrl(url)).post<RouteAnswer>('/v1/route', {
    ...{ query, catalog, k, format: 'names', explore: !greedy },
    ...(unit !== undefined && { unitId: unit }),
  });
  const rows = answer.tools.map(({ rank, name, score, propensity, reason }) => [
    ...[String(rank), name, score.toFixed(3), `${Math.round(propensity * 100)} %`, reason],
  ]);
  const slate = rows.length === 0 ? '' : table([['', 'TOOL', 'SCORE', 'CHANCE', 'WHY'], ...rows]);
  const fallback = answer.fallback === null ? [] : [`Not the usual ranking: ${answer.fallback}.`];
  const notes = [...fallback, ...(answer.notes ?? [])].map((note) => `${note}\n`).join('');
  print(json, answer, `${slate}${notes}\nWhy: bandolier explain ${answer.decisionId}\n`);
}
