import { readdir } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readSettings, type SourcedSettings } from '../../config/read-settings.ts';
import { UserError } from './terminal.ts';

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

/** @throws UserError */
export async function refuseNoDataFolder(folder: string): Promise<void> {
  const content = await readdir(folder).catch((): string[] => []);
  if (!content.includes('catalogs'))
    throw new UserError(`${folder} holds no catalogs: it is no data folder.`);
}

export const catalogsOption = new Option(
  '--catalogs <names>',
  'serve these catalogs only, with commas between (BANDOLIER_CATALOGS)',
);

/** Returns a parser of options that take a whole number. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It has to be a whole number from ${minimum} to ${maximum}.`);
  };
}

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
  if (url !== undefined) return typedUrl(url);
  const { host, port, url: set } = settingsWith().settings;
  return set === undefined ? urlOf(host, port) : typedUrl(set);
}

/** @throws UserError */
export function typedUrl(url: string): string {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    const meant = /^[\w.-]+(:\d+)?(\/|$)/.test(url) ? `http://${url}` : 'http://localhost:8787';
    throw new UserError(
      `--url: "${url}" is no address of a service: it has to begin with http:// or https://, like ${meant}.`,
    );
  }
  // The paths of requests have it already.
  return url.replace(/\/v1\/?$/, '');
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host.replace(/[[\]]/g, '')}]` : host}:${port}`;
}
