import { Command, Option } from 'commander';
import type { CatalogView } from '../catalog/catalog-administration.ts';
import { STANDING_ORDERS, type Standing } from '../catalog/tools.ts';
import type { VersionView } from '../experiments/policy-versions.ts';
import type { RewardHealth } from '../rewards/health-report.ts';
import type { ToolStatistics } from '../state/tool-table.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './config.ts';
import { healthText, percent } from './route.ts';
import { print, table } from './terminal.ts';

interface StatsOptions extends AskOptions {
  readonly order: string;
  readonly limit: string;
}

export function statsCommand(): Command {
  return asking(new Command('stats').description('how tools have done'))
    .argument('[tool]', 'only this one')
    .addOption(new Option('--order <order>', 'what comes first').choices(STANDING_ORDERS).default('called'))
    .option('--limit <number>', 'how many tools', '20')
    .action(stats);
}

async function stats(
  tool: string | undefined,
  { catalog, url, json, order, limit }: StatsOptions,
): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  if (tool !== undefined) {
    const path = `${catalogPath(catalog)}/tools/${encodeURIComponent(tool)}/stats`;
    const one = await api.get<NamedStatistics>(path);
    return print(json, one, toolsTable([one]));
  }
  const found = await standing(api, catalog, order, limit);
  const text = found.standing.length === 0 ? 'No tool was shown yet.\n' : toolsTable(found.standing);
  print(json, found, text);
}

type NamedStatistics = ToolStatistics & { readonly name: string };

function standing(api: ApiClient, catalog: string, order: string, limit: string | number): Promise<Standing> {
  const query = new URLSearchParams({ order, limit: String(limit) });
  return api.get(`${catalogPath(catalog)}/standing?${query}`);
}

function toolsTable(tools: readonly NamedStatistics[]): string {
  const rows = tools.map((one) => [
    one.name,
    ...[one.shown, one.called, one.successes, one.failures, one.timeouts].map(String),
    successRate(one),
  ]);
  return table([['TOOL', 'SHOWN', 'CALLED', 'SUCCESS', 'FAILURE', 'TIMEOUT', 'RATE'], ...rows]);
}

/** Of the calls with an outcome that says something. */
function successRate({ successes, failures }: ToolStatistics): string {
  return percent(successes + failures === 0 ? null : successes / (successes + failures));
}

export function reportCommand(): Command {
  return asking(new Command('report').description('how it is going, on one screen')).action(report);
}

const LISTED = 5;

async function report({ catalog, url, json }: AskOptions): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  const path = catalogPath(catalog);
  const [view, health, best, worst, { policies }] = await Promise.all([
    api.get<CatalogView>(path),
    api.get<RewardHealth>(`/v1/rewards/health?catalog=${encodeURIComponent(catalog)}`),
    standing(api, catalog, 'best', LISTED),
    standing(api, catalog, 'worst', LISTED),
    api.get<{ policies: VersionView[] }>(`${path}/policies`),
  ]);
  const active = policies.find((one) => one.active) ?? null;
  const { total, tools, called } = best;
  const learned =
    active === null ? 'nothing' : `${active.updates} outcomes, ${active.cases} cases are remembered`;
  const lists = [
    ['Best tools', best],
    ['Worst tools', worst],
  ] as const;
  const text = `Catalog ${catalog}: ${tools} tools, ${called} of them called; ${view.policy.version}

${healthText(health)}
Since the beginning: ${total.called} calls, ${successRate(total)} of those with an outcome succeeded, ${total.timeouts} timeouts.
Learned: ${learned}.
${lists.map(([title, { standing: some }]) => (some.length === 0 ? '' : `\n${title}\n${toolsTable(some)}`)).join('')}`;
  print(
    json,
    { catalog: view, health, total, best: best.standing, worst: worst.standing, policy: active },
    text,
  );
}
