import { Command } from 'commander';
import { describeSettings } from '../../config/describe-settings.ts';
import { jsonOption, settingsWith } from './options.ts';
import { print, table } from './terminal.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('print the effective settings and where each comes from')
    .addOption(jsonOption)
    .action(({ json }: { readonly json?: boolean }) => {
      const settings = describeSettings(settingsWith());
      const rows = settings.map(({ name, value, source, variable }) => [name, value, source, variable]);
      print(json, settings, table([['setting', 'value', 'from', 'variable'], ...rows]));
    });
}
