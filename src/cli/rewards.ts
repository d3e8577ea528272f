import { Command } from 'commander';
import type { DeadRewards } from '../rewards/rewards.ts';
import { ApiClient } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { print, table } from './terminal.ts';

type RewardsOptions = Omit<AskOptions, 'catalog'>;

export function rewardsCommand(): Command {
  const command = new Command('rewards').description('rewards that could not be learned from');
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description), { catalog: false });

  sub('dead', 'list those that were given up after ten attempts, and why').action(
    async (options: RewardsOptions) => {
      const { dead } = await api(options).get<{ dead: DeadRewards[] }>('/v1/rewards/dead?limit=1000');
      const rows = dead.map(({ id, kind, catalog, decisions, failedAt, error }) => [
        id,
        kind,
        catalog ?? '?',
        String(decisions.length),
        failedAt,
        error.split('\n')[0].slice(0, 80),
      ]);
      const head = ['ID', 'KIND', 'CATALOG', 'DECISIONS', 'GIVEN UP', 'ERROR'];
      print(options.json, { dead }, rows.length === 0 ? 'There are none.\n' : table([head, ...rows]));
    },
  );

  sub('redrive', 'try them again, once what was wrong is mended')
    .argument('[ids...]', 'all of them if none is named')
    .action(async (ids: string[], options: RewardsOptions) => {
      const body = ids.length === 0 ? {} : { ids };
      const { redriven } = await api(options).post<{ redriven: number }>('/v1/rewards/dead/redrive', body);
      print(options.json, { redriven }, `${redriven} put back into the queue.\n`);
    });
  return command;
}

function api({ url }: RewardsOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
