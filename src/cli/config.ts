import { Command } from 'commander';
import { describeSettings } from '../../config/describe-settings.ts';
import { settingsWith } from './setting-options.ts';
import { table } from './table.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('print the effective settings and where each comes from')
    .option('--json', 'as JSON')
    .action(({ json }: { readonly json?: boolean }) => {
      const settings = describeSettings(settingsWith());
      if (json) return void process.stdout.write(`${JSON.stringify(settings, null, 2)}\n`);
      const rows = settings.map(({ name, value, source, variable }) => [name, value, source, variable]);
      process.stdout.write(table([['setting', 'value', 'from', 'variable'], ...rows]));
    });
}
