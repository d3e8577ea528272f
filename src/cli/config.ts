import { Command, Option } from 'commander';
import { describeSettings } from '../../config/describe-settings.ts';
import { readSettings, type SourcedSettings } from '../../config/read-settings.ts';
import { table } from './terminal.ts';

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

/** The settings that can be given on the command line as well. */
export interface SettingFlags {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
  readonly catalogs?: string;
}

/** Options that mean the same for every command that has them. */
export const urlOption = new Option('--url <url>', 'service to talk to; default: the one of this machine');
export const jsonOption = new Option('--json', 'as JSON');
export const catalogOption = (more?: string): Option =>
  new Option('--catalog <name>', more === undefined ? 'catalog' : `catalog, ${more}`).default('default');

/** What commands have that ask a service about one catalog. */
export interface AskOptions {
  readonly catalog: string;
  readonly url?: string;
  readonly json?: boolean;
}

/** A command that asks a service; with `catalog` it asks about one. */
export function asking(command: Command, { catalog = true } = {}): Command {
  if (catalog) command.addOption(catalogOption());
  return command.addOption(urlOption).addOption(jsonOption);
}

export const hostOption = new Option('--host <address>', 'address to listen on (BANDOLIER_HOST)');
export const portOption = new Option(
  '--port <number>',
  'port to listen on, 0 for a free one (BANDOLIER_PORT)',
);
export const dataDirOption = new Option(
  '--data-dir <folder>',
  'where everything is kept (BANDOLIER_DATA_DIR)',
);

export const catalogsOption = new Option(
  '--catalogs <names>',
  'serve these catalogs only, with commas between (BANDOLIER_CATALOGS)',
);

/** @throws SettingsError */
export function settingsWith({ host, port, dataDir, catalogs }: SettingFlags = {}): SourcedSettings {
  return readSettings({
    flags: {
      ...(host && { host }),
      ...(port && { port }),
      ...(dataDir && { dataDir }),
      ...(catalogs && { catalogs }),
    },
  });
}

/** Where the service of these settings is to be found, unless `--url` says otherwise. */
export function serviceUrl(url: string | undefined): string {
  if (url !== undefined) return url;
  const { host, port } = settingsWith().settings;
  return urlOf(host, port);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host.replace(/[[\]]/g, '')}]` : host}:${port}`;
}
