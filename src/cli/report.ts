import { Command } from 'commander';
import type { CatalogView } from '../catalog/catalog-administration.ts';
import type { VersionView } from '../experiments/policy-versions.ts';
import type { RewardHealth } from '../rewards/health-report.ts';
import type { SourceView } from '../sources/sources.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { healthText } from './health.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { standing, successRate, toolsTable } from './stats.ts';
import { print } from './terminal.ts';

export function reportCommand(): Command {
  return asking(new Command('report').description('how it is going, on one screen')).action(report);
}

const LISTED = 5;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

async function report({ catalog, url, json }: AskOptions): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  const path = catalogPath(catalog);
  const [view, health, best, worst, { policies }, { sources }] = await Promise.all([
    api.get<CatalogView>(path),
    api.get<RewardHealth>(`/v1/rewards/health?catalog=${encodeURIComponent(catalog)}`),
    standing(api, catalog, 'best', LISTED),
    standing(api, catalog, 'worst', LISTED),
    api.get<{ policies: VersionView[] }>(`${path}/policies`),
    api.get<{ sources: SourceView[] }>(`${path}/sources`),
  ]);
  const active = policies.find((one) => one.active) ?? null;
  const { total, tools, called } = best;
  const learned =
    active === null
      ? 'nothing'
      : `${counted(active.updates, 'update')}, ${counted(active.cases, 'case')} remembered`;
  // Of few tools the worst would be the best once more.
  const isBest = new Set(best.standing.map(({ name }) => name));
  const lists = [
    ['Best tools', best],
    ['Worst tools', { standing: worst.standing.filter(({ name }) => !isBest.has(name)) }],
  ] as const;
  const { successes, failures } = total;
  const succeeded =
    successes + failures === 0 ? '' : `, ${successRate(total)} of those with an outcome succeeded`;
  const failed = sources.flatMap(({ name, error }) =>
    error === undefined ? [] : `Source "${name}" could not be read: ${error}\n`,
  );
  const text = `Catalog ${catalog}: ${counted(tools, 'tool')}, ${called} of them called; ${view.policy.version}
${failed.join('')}
${healthText(health)}
Since the beginning: ${counted(total.called, 'call')}${succeeded}, ${counted(total.timeouts, 'timeout')}.
Learned: ${learned}.
${lists.map(([title, { standing: some }]) => (some.length === 0 ? '' : `\n${title}\n${toolsTable(some)}`)).join('')}`;
  print(
    json,
    { catalog: view, health, total, best: best.standing, worst: worst.standing, policy: active, sources },
    text,
  );
}
