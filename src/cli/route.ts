import { Command } from 'commander';
import type { RewardHealth } from '../rewards/health-report.ts';
import type { DecisionExplanation } from '../routing/explain-decision.ts';
import type { DecisionPage, DecisionSummary } from '../routing/list-decisions.ts';
import type { RouteAnswer } from '../routing/route-answer.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './config.ts';
import { print, table } from './terminal.ts';

export function routeCommand(): Command {
  return asking(new Command('route').description('ask for the tools that a query needs'))
    .argument('<query>', 'what a user wants')
    .option('--k <number>', 'how many tools', '5')
    .option('--unit <id>', 'the user, unit or session that asks')
    .option('--greedy', 'try nothing out: rank by what is known')
    .addHelpText(
      'after',
      `
The decision is recorded like that of an agent. Without a reward it teaches nothing.

Examples:
  bandolier route "the customer wants their money back"
  bandolier route "where is my parcel" --k 3 --json | jq -r .decisionId`,
    )
    .action(route);
}

interface RouteOptions extends AskOptions {
  readonly k: string;
  readonly unit?: string;
  readonly greedy?: boolean;
}

async function route(query: string, { catalog, k, unit, greedy, url, json }: RouteOptions): Promise<void> {
  const answer = await new ApiClient(serviceUrl(url)).post<RouteAnswer>('/v1/route', {
    ...{ query, catalog, k: Number(k), format: 'names', explore: !greedy },
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

export function explainCommand(): Command {
  return asking(new Command('explain').description('why were these tools shown?'), { catalog: false })
    .argument('<decision>', 'id of the decision')
    .action(async (id: string, { url, json }: AskOptions) => {
      const api = new ApiClient(serviceUrl(url));
      const explained = await api.get<DecisionExplanation>(`/v1/decisions/${encodeURIComponent(id)}`);
      print(json, explained, explanationText(explained));
    });
}

/** Candidates that were not shown: so many are enough to see what was left out. */
const SHOWN_REST = 5;

function explanationText({ candidates, rewards, ...decision }: DecisionExplanation): string {
  const { decisionId, at, catalog, policy, fallback, query } = decision;
  const shown = candidates.filter(({ rank }) => rank !== null);
  const rest = candidates.filter(({ rank }) => rank === null);
  const lines = [
    `${decisionId}, ${at}, catalog ${catalog}, ${policy.version}`,
    ...(query === undefined ? [] : [`“${query}”`]),
    ...(fallback === null ? [] : [`Not the usual ranking: ${fallback}.`]),
    '',
    ...shown.map(
      ({ rank, name, score, sentence }) => `${rank}. ${name} (${score.toFixed(3)})\n   ${sentence}`,
    ),
    ...(rest.length === 0 ? [] : ['', `Not shown, ${Math.min(SHOWN_REST, rest.length)} of ${rest.length}:`]),
    ...rest
      .slice(0, SHOWN_REST)
      .map(({ name, score, sentence }) => `   ${name} (${score.toFixed(3)}): ${sentence}`),
    '',
    ...(rewards.length === 0 ? ['No rewards are known.'] : ['Rewards:']),
    ...rewards.map((reward) => `   ${rewardText(reward)}`),
  ];
  return `${lines.join('\n')}\n`;
}

type Reward = DecisionExplanation['rewards'][number];

function rewardText({ tool, outcome, status, reason }: Reward): string {
  return `${tool ?? 'the whole decision'}: ${outcome}, ${status}${reason === undefined ? '' : ` (${reason})`}`;
}

interface DecisionsOptions extends AskOptions {
  readonly limit: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly unit?: string;
  readonly fallback?: string;
  readonly from?: string;
  readonly to?: string;
  readonly text?: string;
}

export function decisionsCommand(): Command {
  return asking(new Command('decisions').description('list what was decided, newest first'))
    .option('--limit <number>', 'how many', '20')
    .option('--tool <name>', 'those that showed this tool')
    .option('--outcome <outcome>', 'success, failure, partial, timeout, refused, not_used, or none')
    .option('--unit <id>', 'those of this user, unit or session')
    .option('--fallback <reason>', 'low_confidence, embedder_down, kill_switch, or none')
    .option('--from <time>', 'ISO time, e.g. 2026-12-01T00:00:00Z')
    .option('--to <time>', 'ISO time')
    .option('--text <text>', 'those whose query contains this, where the catalog retains texts')
    .addHelpText(
      'after',
      `
Examples:
  bandolier decisions --tool refund_payment --outcome timeout
  bandolier decisions --outcome none --limit 100 --json`,
    )
    .action(listDecisions);
}

async function listDecisions({ catalog, url, json, limit, ...filter }: DecisionsOptions): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  const decisions: DecisionSummary[] = [];
  // Pages of a filter that few decisions match may be short.
  for (let cursor: string | null | undefined; cursor !== null && decisions.length < Number(limit); ) {
    const wanted = Math.min(1000, Number(limit) - decisions.length);
    const query = new URLSearchParams({ ...filter, limit: String(wanted), ...(cursor && { cursor }) });
    const page: DecisionPage = await api.get(`${catalogPath(catalog)}/decisions?${query}`);
    decisions.push(...page.decisions);
    cursor = page.nextCursor;
  }
  const rows = decisions.map(({ decisionId, at, tools, rewards, query, fallback }) => [
    decisionId,
    at,
    tools.slice(0, 3).join(', ') + (tools.length > 3 ? ', …' : ''),
    rewards === null ? '?' : rewards.map(({ tool, outcome }) => `${tool ?? '*'} ${outcome}`).join(', '),
    [...(fallback === null ? [] : [`[${fallback}]`]), query ?? ''].join(' ').trim().slice(0, 60),
  ]);
  const head = ['DECISION', 'AT', 'SHOWN', 'REPORTED', 'QUERY'];
  print(json, { decisions }, rows.length === 0 ? 'There are none.\n' : table([head, ...rows]));
}

export function healthCommand(): Command {
  return asking(new Command('health').description('are rewards coming in as they should?')).action(
    async ({ catalog, url, json }: AskOptions) => {
      const api = new ApiClient(serviceUrl(url));
      const health = await api.get<RewardHealth>(`/v1/rewards/health?catalog=${encodeURIComponent(catalog)}`);
      print(json, health, healthText(health));
    },
  );
}

/** How rewards come in, for people. */
export function healthText({ decisions, outcomes, delaySeconds, pending, alerts }: RewardHealth): string {
  const said = Object.entries(outcomes).filter(([, count]) => count > 0);
  const lines = [
    `Last 24 hours: ${decisions.routed} decisions, ${percent(decisions.share)} of them with a reward; ${pending} rewards wait.`,
    `Outcomes: ${said.map(([outcome, count]) => `${outcome} ${count}`).join(', ') || 'none'}.`,
    ...(delaySeconds.p50 === null
      ? []
      : [`Half of them within ${delaySeconds.p50} s, 95 % within ${delaySeconds.p95} s.`]),
    ...alerts.map((alert) => `! ${alert.observed} ${alert.likelyCause} ${alert.suggestedAction}`),
    ...(alerts.length === 0 ? ['Nothing is off.'] : []),
  ];
  return `${lines.join('\n')}\n`;
}

export function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)} %`;
}
