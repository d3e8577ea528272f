import { Command } from 'commander';
import type { RewardHealth } from '../rewards/health-report.ts';
import { ApiClient } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, percent, print } from './terminal.ts';

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
    `Last 24 hours: ${counted(decisions.routed, 'decision')}, ${percent(decisions.share)} of them with a reward; rewards that wait: ${pending}.`,
    `Outcomes: ${said.map(([outcome, count]) => `${outcome} ${count}`).join(', ') || 'none'}.`,
    ...(delaySeconds.p50 === null
      ? []
      : [`Half of them within ${delaySeconds.p50} s, 95 % within ${delaySeconds.p95} s.`]),
    ...alerts.map((alert) => `! ${alert.observed} ${alert.likelyCause} ${alert.suggestedAction}`),
    ...(alerts.length === 0 ? ['Nothing is off.'] : []),
  ];
  return `${lines.join('\n')}\n`;
}
