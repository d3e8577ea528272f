import { Command, Option } from 'commander';
import { STANDING_ORDERS, type Standing } from '../catalog/tools.ts';
import type { SufficiencyReport } from '../routing/sufficiency-report.ts';
import type { ToolStatistics } from '../state/tool-table.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { counted, percent, print, table } from './terminal.ts';

interface StatsOptions extends AskOptions {
  readonly order: string;
  readonly limit: number;
  readonly sufficiency?: boolean;
}

export function statsCommand(): Command {
  return asking(new Command('stats').description('how tools have done'))
    .argument('[tool]', 'only this one')
    .addOption(new Option('--order <order>', 'what comes first').choices(STANDING_ORDERS).default('called'))
    .option('--sufficiency', 'whether slates suffice, and whether that is known')
    .option('--limit <number>', 'how many tools', wholeNumber(1, 1000), 20)
    .action(stats);
}

async function stats(
  tool: string | undefined,
  { catalog, url, json, order, limit, sufficiency }: StatsOptions,
): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  if (sufficiency) {
    const report = await api.get<SufficiencyReport>(`${catalogPath(catalog)}/sufficiency`);
    return print(json, report, sufficiencyText(report));
  }
  if (tool !== undefined) {
    const path = `${catalogPath(catalog)}/tools/${encodeURIComponent(tool)}/stats`;
    const one = await api.get<NamedStatistics>(path);
    return print(json, one, toolsTable([one]));
  }
  const found = await standing(api, catalog, order, limit);
  const text = found.standing.length === 0 ? 'No tool was shown yet.\n' : toolsTable(found.standing);
  print(json, found, text);
}

function sufficiencyText(report: SufficiencyReport): string {
  const { discoveries, breaker, calibrationError, outcomes } = report;
  const rows = report.reliability
    .filter(({ count }) => count > 0)
    .map(({ from, to, count, predicted, observed }) => [
      `${from.toFixed(1)}–${to.toFixed(1)}`,
      ...[count.toFixed(0), percent(predicted), percent(observed)],
    ]);
  const known =
    calibrationError === null
      ? 'No decision has ended yet.\n'
      : `${table([['PREDICTED', 'OUTCOMES', 'MEAN', 'SUFFICED'], ...rows])}calibration error ${calibrationError.toFixed(3)} after ${outcomes} outcomes\n`;
  const asked = `${discoveries.decisions} decisions of the last 24 hours were asked for more, ${discoveries.times} times; ${discoveries.tools} tools were added.\n`;
  const refused = breaker.open ? `Discoveries are refused until ${breaker.closesAt}.\n` : '';
  const { callers } = breaker;
  const asking = callers === 1 ? 'who asks' : 'who ask';
  const loops =
    callers === 0 ? '' : `Discoveries of ${counted(callers, 'caller')} are refused, ${asking} in a loop.\n`;
  return `${known}${asked}${refused}${loops}`;
}

type NamedStatistics = ToolStatistics & { readonly name: string };

/** The tools of a catalog that come first in an order. */
export function standing(api: ApiClient, catalog: string, order: string, limit: number): Promise<Standing> {
  const query = new URLSearchParams({ order, limit: String(limit) });
  return api.get(`${catalogPath(catalog)}/standing?${query}`);
}

export function toolsTable(tools: readonly NamedStatistics[]): string {
  const rows = tools.map((one) => [
    one.name,
    ...[one.shown, one.called, one.successes, one.failures, one.timeouts].map(String),
    successRate(one),
  ]);
  return table([['TOOL', 'SHOWN', 'CALLED', 'SUCCESS', 'FAILURE', 'TIMEOUT', 'RATE'], ...rows]);
}

/** Of the calls with an outcome that says something. */
export function successRate({ successes, failures }: ToolStatistics): string {
  return percent(successes + failures === 0 ? null : successes / (successes + failures));
}
